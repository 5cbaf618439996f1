import type { AgentJob } from '@groundstate/contract/agent'
import type { EngineContext } from './context.ts'
import { engineName, type FoundEngine } from './engine.ts'

/**
 * What the log of a job begins with. For an apply exactly three lines: the command line cuts as many off its log (see its `cloud`
 * back end).
 */
export function jobHeader({ kind, pageUrl, engine: { product } }: AgentJob, { engine }: FoundEngine): string {
  const page = kind === 'plan' && pageUrl !== undefined ? `The run's page is ${pageUrl}\n\n` : ''
  return `${page}${engineName(product)} v${engine.version}\non ${engine.platform}\nInitializing plugins and modules...\n`
}

/** Says which variables of the workspace its runs do not get. */
export function warnOfRefused({ environment, log }: EngineContext) {
  for (const key of environment.refused) {
    log.write(`The environment variable ${key} is left out: it would take the run off its server.\n`)
  }
}
