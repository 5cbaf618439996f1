import type { FinishJob } from '@groundstate/contract/agent'
import { saveErroredState } from '../results/journal.ts'
import { downloadArtifact } from './artifacts.ts'
import type { EngineContext } from './context.ts'
import { HookFailed, lockFile, runEngine, runHook } from './run-engine.ts'
import { UNREACHABLE_GRACE_MS } from './stop.ts'
import { readSummary } from './summaries.ts'
import { readDeclaredVariables, writeVariables } from './variables.ts'
import { runInit } from './working-directory.ts'

/** Recreates the working directory of the plan in a new directory. */
export async function prepareColdApply(context: EngineContext) {
  const [planned] = await Promise.all([
    downloadArtifact(context, 'plan-file', context.directory.planFile),
    downloadArtifact(context, 'lock-file', lockFile(context)),
  ])
  if (!planned) throw new Error('the server has no plan file of this run')
  await runInit(context)
}

/** Applies the plan file. The engine stores the state; a state that it could not store is saved in the journal. */
export async function runApply(context: EngineContext): Promise<FinishJob> {
  const { agent, directory, job, journal, log, workingDirectory } = context
  await runHook(context, 'pre-apply')
  let counts: FinishJob['counts']
  let message: string | undefined
  const args = [
    'apply',
    '-input=false',
    '-lock=false',
    ...(job.structuredOutput ? ['-json'] : []),
    ...(await ephemeralVariables(context)),
    directory.planFile,
  ]
  const { root, tmp, user } = directory
  await journal.update({ directory: { root, tmp, uid: user?.uid }, workingDirectory, began: true })
  let exitCode: number | null
  try {
    exitCode = await runEngine(context, args, {
      onOutput(lines, stream) {
        if (job.structuredOutput && stream === 'stdout') counts = readSummary(lines, 'apply') ?? counts
        return log.write(lines)
      },
      orphan: {
        pidFile: journal.pid,
        logFile: journal.log,
        logLimit: log.limit,
        exitFile: journal.exit,
        interruptedFile: journal.interrupted,
        graceMs: UNREACHABLE_GRACE_MS,
        relay: agent.gateway.relay(),
      },
    })
  } finally {
    message = await saveErroredState(journal, directory, workingDirectory)
    if (message !== undefined) log.write(`\nWarning: ${message}\n`)
  }
  if (exitCode === 0) await runHook(context, 'post-apply').catch(warn)
  return exitCode === 0 ? { status: 'finished', exitCode, counts, message } : { status: 'errored', exitCode, message }

  async function warn(error: unknown) {
    if (!(error instanceof HookFailed)) throw error
    log.write(`\nWarning: ${error.message}. The apply itself succeeded.\n`)
  }
}

/** Passes ephemeral variables again: a plan file contains only the others. */
async function ephemeralVariables({
  directory,
  job,
  ownVariables: own,
  workingDirectory,
}: EngineContext): Promise<string[]> {
  const declared = await readDeclaredVariables(workingDirectory, directory)
  const ephemeral = new Map([...declared].filter(([, variable]) => variable.ephemeral))
  return writeVariables(directory, { variables: job.variables, own }, ephemeral)
}
