import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FinishJob } from '@groundstate/contract/agent'
import { readApplySummary } from './apply-summary.ts'
import { uploadResult, downloadArtifact } from './artifacts.ts'
import { openConfined } from './confined-file.ts'
import type { EngineContext } from './context.ts'
import { readDeclaredVariables } from './declared-variables.ts'
import { HookFailed, runHook } from './hooks.ts'
import { lockFile } from './lock-file.ts'
import { runEngine } from './run-engine.ts'
import { writeVariables } from './variables.ts'
import { runInit } from './working-folder.ts'

/** The file in which the engine leaves state that it could not store. */
const ERRORED_STATE = 'errored.tfstate'

/** Brings a new folder into the state in which the plan left its own. */
export async function prepareColdApply(context: EngineContext) {
  const [planned] = await Promise.all([
    downloadArtifact(context, 'plan-file', context.folder.planFile),
    downloadArtifact(context, 'lock-file', lockFile(context)),
  ])
  if (!planned) throw new Error('the server has no plan file of this run')
  await runInit(context)
}

/** Applies the plan file. The engine itself stores the state. */
export async function runApply(
  context: EngineContext,
  keepErroredState: (state: Buffer) => Promise<void>,
): Promise<FinishJob> {
  const { folder, job, log, workingFolder } = context
  await runHook(context, 'pre-apply')
  let counts: FinishJob['counts']
  const args = [
    'apply',
    '-input=false',
    '-lock=false',
    ...(job.structuredOutput ? ['-json'] : []),
    ...(await ephemeralVariables(context)),
    folder.planFile,
  ]
  try {
    const exitCode = await runEngine(context, args, {
      onOutput(lines, stream) {
        if (stream === 'stdout') counts = readApplySummary(lines) ?? counts
        return log.write(lines)
      },
    })
    if (exitCode === 0) await runHook(context, 'post-apply').catch(warn)
    return { status: exitCode === 0 ? 'finished' : 'errored', exitCode, counts }
  } finally {
    await saveErroredState(context, join(workingFolder, ERRORED_STATE), keepErroredState)
  }

  /** The apply has happened, whatever the hook thinks of it. */
  async function warn(error: unknown) {
    if (!(error instanceof HookFailed)) throw error
    await log.write(`\nWarning: ${error.message}. The apply itself has succeeded.\n`)
  }
}

/** A plan file holds the values of all variables but the ephemeral ones, which are given again. */
async function ephemeralVariables({ folder, job, workingFolder }: EngineContext): Promise<string[]> {
  const declared = await readDeclaredVariables(workingFolder, folder)
  const ephemeral = new Map([...declared].filter(([, variable]) => variable.ephemeral))
  return writeVariables(folder, job.variables, ephemeral)
}

async function saveErroredState(
  context: EngineContext,
  path: string,
  keepErroredState: (state: Buffer) => Promise<void>,
) {
  await using file = await openConfined(path, context.folder)
  if (file === undefined) return
  try {
    await uploadResult(context, 'errored-state', path)
  } catch {
    // The server is gone. The state must not be removed with the folder.
    await keepErroredState(await file.handle.readFile())
  }
}

/** Keeps the only copy of a state in a place that no clean-up reaches, and returns its path. */
export async function storeErroredState(workDir: string, runId: string, state: Buffer): Promise<string> {
  const folder = join(workDir, 'errored-states')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = join(folder, `${runId}.tfstate`)
  await writeFile(kept, state, { mode: 0o600 })
  return kept
}
