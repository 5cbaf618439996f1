import { createWriteStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ArtifactKind } from '@groundstate/contract/agent'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { unpackArchive } from './archive.ts'
import { writeCliConfig } from './cli-config.ts'
import { engineEnvironment } from './environment.ts'
import { forgetEarlierState, writeOverride } from './override.ts'
import { EngineFailed, lockFileDigest, runEngine, type Phase, type Workplace } from './phase.ts'
import type { RunFolder } from './run-folder.ts'

/** Fills a new folder with the job's configuration and everything the engine needs around it; no init yet. */
export async function layOutWorkplace(phase: Phase, folder: RunFolder): Promise<Workplace> {
  const { client, job } = phase
  const signal = AbortSignal.any([phase.alive, phase.stop.interrupt])
  const entries = await client.getConfiguration(signal, async (archive) => {
    // Empty at first; not when a download has broken off and begins again.
    await rm(folder.configuration, { recursive: true })
    await mkdir(folder.configuration)
    return unpackArchive(archive, folder.configuration)
  })
  const workplace = await enterWorkplace(phase, folder)
  await requireWorkingFolder(workplace, entries)
  await forgetEarlierState(workplace.workingFolder)
  await writeOverride(workplace.workingFolder, { organization: job.organizationName, name: job.workspaceName })
  return workplace
}

/** The workplace in a folder that is laid out, with what changes from job to job written anew. */
export async function enterWorkplace(phase: Phase, folder: RunFolder): Promise<Workplace> {
  const { job, workshop } = phase
  const problem = entryProblem({ path: job.workingDirectory, type: 'Directory' }, newSeenEntries())
  if (problem !== undefined) throw new Error(`the working directory "${job.workingDirectory}" ${problem}`)
  await writeCliConfig(folder.cliConfig, {
    apiUrl: workshop.apiUrl,
    token: job.token,
    hostNames: job.hostNames,
  })
  const environment = engineEnvironment(job, folder, workshop)
  return { ...phase, folder, environment, workingFolder: join(folder.configuration, job.workingDirectory) }
}

async function requireWorkingFolder({ workingFolder, job }: Workplace, entries: number) {
  const facts = await stat(workingFolder).catch(() => undefined)
  if (facts?.isDirectory() === true) return
  // A destroy may come with an empty configuration, which has no folders either.
  if (entries > 1)
    throw new Error(`the configuration has no folder "${job.workingDirectory}", the workspace's working directory`)
  await mkdir(workingFolder, { recursive: true })
}

/** Runs `init`. What it says is shown only when it fails, or when the run is to be debugged. Throws `EngineFailed`. */
export async function initWorkplace(workplace: Workplace) {
  const { job, log, workshop, stop, workingFolder } = workplace
  const said: Buffer[] = []
  const onOutput = (lines: Buffer) => (job.options.debug ? log.write(lines) : void said.push(lines))
  const providers = `${job.workspaceId} ${await lockFileDigest(workingFolder)}`
  const code = await workshop.initGate.pass(providers, stop.interrupt, () =>
    runEngine(workplace, ['init', '-input=false'], { onOutput }),
  )
  if (code === 0) return
  await log.write(Buffer.concat(said))
  throw new EngineFailed('init', code)
}

/** Fetches an artifact that an earlier phase of the run has left; answers whether there is one. */
export async function downloadArtifact(workplace: Workplace, kind: ArtifactKind, path: string): Promise<boolean> {
  const signal = AbortSignal.any([workplace.alive, workplace.stop.interrupt])
  const received = await workplace.client.getArtifact(kind, signal, async (body) => {
    await pipeline(body, createWriteStream(path, { mode: 0o600 }))
    return true
  })
  return received ?? false
}
