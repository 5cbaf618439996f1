import { copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FinishJob } from '@groundstate/contract/agent'
import { readApplySummary } from './apply-summary.ts'
import { uploadFile, downloadArtifact } from './artifacts.ts'
import type { EngineContext } from './context.ts'
import { readDeclaredVariables } from './declared-variables.ts'
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
  keepErroredState: (path: string) => Promise<void>,
): Promise<FinishJob> {
  const { folder, job, log, workingFolder } = context
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
    return { status: exitCode === 0 ? 'finished' : 'errored', exitCode, counts }
  } finally {
    await saveErroredState(context, join(workingFolder, ERRORED_STATE), keepErroredState)
  }
}

/** A plan file holds the values of all variables but the ephemeral ones, which are given again. */
async function ephemeralVariables({ folder, job, workingFolder }: EngineContext): Promise<string[]> {
  const declared = await readDeclaredVariables(workingFolder)
  const ephemeral = new Map([...declared].filter(([, variable]) => variable.ephemeral))
  return writeVariables(folder.variables, job.variables, ephemeral)
}

async function saveErroredState(
  context: EngineContext,
  path: string,
  keepErroredState: (path: string) => Promise<void>,
) {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return
  try {
    await uploadFile(context, 'errored-state', path)
  } catch {
    // The server is gone. The state must not be removed with the folder.
    await keepErroredState(path)
  }
}

/** Copies the only copy of a state to a place that no clean-up reaches, and returns its path. */
export async function storeErroredState(workDir: string, runId: string, path: string): Promise<string> {
  const folder = join(workDir, 'errored-states')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = join(folder, `${runId}.tfstate`)
  await copyFile(path, kept)
  return kept
}
