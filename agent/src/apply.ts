import { copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FinishJob } from '@groundstate/contract/agent'
import { readApplySummary } from './apply-summary.ts'
import { readDeclaredVariables } from './declared-variables.ts'
import { lockFile, runEngine, uploadFile, type Workplace } from './phase.ts'
import { writeVariables } from './variables.ts'
import { downloadArtifact, initWorkplace } from './workplace.ts'

/** The file in which the engine leaves state that it could not store. */
const ERRORED_STATE = 'errored.tfstate'

/** Brings a folder that was laid out for this apply to where the plan has left its own. */
export async function prepareColdApply(workplace: Workplace) {
  const [planned] = await Promise.all([
    downloadArtifact(workplace, 'plan-file', workplace.folder.planFile),
    downloadArtifact(workplace, 'lock-file', lockFile(workplace)),
  ])
  if (!planned) throw new Error('the server has no plan file of this run')
  await initWorkplace(workplace)
}

/** Applies the plan file of a workplace; the engine itself stores the state as it goes. */
export async function runApply(
  workplace: Workplace,
  keepErroredState: (path: string) => Promise<void>,
): Promise<FinishJob> {
  const { folder, job, log, workingFolder } = workplace
  let counts: FinishJob['counts']
  const args = [
    'apply',
    '-input=false',
    '-lock=false',
    ...(job.structuredOutput ? ['-json'] : []),
    ...(await ephemeralVariables(workplace)),
    folder.planFile,
  ]
  try {
    const exitCode = await runEngine(workplace, args, {
      onOutput(lines, stream) {
        if (stream === 'stdout') counts = readApplySummary(lines) ?? counts
        return log.write(lines)
      },
    })
    return { status: exitCode === 0 ? 'finished' : 'errored', exitCode, counts }
  } finally {
    await saveErroredState(workplace, join(workingFolder, ERRORED_STATE), keepErroredState)
  }
}

/** A plan file holds the values of all variables but the ephemeral ones, which are given again. */
async function ephemeralVariables({ folder, job, workingFolder }: Workplace): Promise<string[]> {
  const declared = await readDeclaredVariables(workingFolder)
  const ephemeral = new Map([...declared].filter(([, variable]) => variable.ephemeral))
  return writeVariables(folder.variables, job.variables, ephemeral)
}

async function saveErroredState(workplace: Workplace, path: string, keepErroredState: (path: string) => Promise<void>) {
  const facts = await stat(path).catch(() => undefined)
  if (facts === undefined) return
  try {
    await uploadFile(workplace, 'errored-state', path)
  } catch {
    // The server is gone: what the engine has made must not be forgotten with the folder.
    await keepErroredState(path)
  }
}

/** Puts state that nobody else has where no clean-up reaches it, and answers the place. */
export async function storeErroredState(workDir: string, runId: string, path: string): Promise<string> {
  const folder = join(workDir, 'errored-states')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = join(folder, `${runId}.tfstate`)
  await copyFile(path, kept)
  return kept
}
