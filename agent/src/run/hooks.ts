import { access, constants, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineContext } from './context.ts'
import { runConfined } from './run-engine.ts'

type HookName = 'pre-plan' | 'post-plan' | 'pre-apply' | 'post-apply'

/** A hook of the agent's operator that refused, or could not be run. */
export class HookFailed extends Error {
  override name = 'HookFailed'
}

/** Whether the operator has a program of that name. */
export async function hasHook({ hooks }: Pick<EngineContext['agent'], 'hooks'>, name: HookName): Promise<boolean> {
  return hooks !== undefined && (await stat(join(hooks, name)).catch(() => undefined)) !== undefined
}

/**
 * Runs the program of that name in the hooks directory, if there is one: where the engine runs, with its environment, as its
 * user. Its output goes to the log. Throws `HookFailed` when it does not end with 0.
 */
export async function runHook(context: EngineContext, name: HookName): Promise<void> {
  const { agent, job, log, environment, workingDirectory } = context
  if (agent.hooks === undefined || !(await hasHook(agent, name))) return
  const file = join(agent.hooks, name)
  const mayRun = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!mayRun) throw new HookFailed(`the hook ${name} is not executable: ${file}`)
  const env = {
    ...environment.run,
    GROUNDSTATE_HOOK: name,
    GROUNDSTATE_RUN_ID: job.runId,
    GROUNDSTATE_ORGANIZATION: job.organizationName,
    GROUNDSTATE_WORKSPACE: job.workspaceName,
    GROUNDSTATE_WORKING_DIRECTORY: workingDirectory,
  }
  const spec = { file, args: [], env, onOutput: (lines: Buffer) => log.write(lines) }
  const { code, signal } = await runConfined(context, spec)
  if (code === 0) return
  throw new HookFailed(`the hook ${name} ended with ${code === null ? `the signal ${signal}` : `exit code ${code}`}`)
}
