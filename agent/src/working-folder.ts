import { createHash, type Hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { unpackArchive } from './archive.ts'
import { writeCliConfig } from './cli-config.ts'
import type { JobContext, EngineContext } from './context.ts'
import { engineEnvironment } from './environment.ts'
import { factsOf } from './facts-of.ts'
import { openInitCache } from './init-cache.ts'
import { lockFile, lockFileDigest } from './lock-file.ts'
import { forgetEarlierState, writeOverride } from './override.ts'
import { whileFilling } from './plugin-caches.ts'
import { EngineFailed, runEngine } from './run-engine.ts'
import { handOver, type RunFolder } from './run-folder.ts'
import { shareProviders } from './shared-cache.ts'

/** Prepares a new folder with the job's configuration and all that the engine needs, short of `init`. */
export async function prepareFolder(jobContext: JobContext, folder: RunFolder): Promise<EngineContext> {
  const { job } = jobContext
  const signal = AbortSignal.any([jobContext.alive, jobContext.stop.interrupt])
  const archiveDigest = await unpackConfiguration(jobContext, folder, signal)
  const context = { ...(await enterFolder(jobContext, folder)), archiveDigest }
  requireConfiguration(context)
  await forgetEarlierState(context.workingFolder)
  const override = { organization: job.organizationName, name: job.workspaceName }
  handOver(writeOverride(context.workingFolder, override), folder)
  return context
}

/** Unpacks the job's configuration into its folder, and returns the SHA-256 of the archive. */
async function unpackConfiguration({ client }: JobContext, folder: RunFolder, signal: AbortSignal): Promise<string> {
  let isFirst = true
  return client.getConfiguration(signal, async (archive) => {
    // A download that broke off has left files here.
    if (!isFirst) await emptyFolder(folder)
    isFirst = false
    const hash = createHash('sha256')
    await unpackArchive(Readable.from(hashed(archive, hash), { objectMode: false }), folder.configuration, folder.user)
    return hash.digest('hex')
  })
}

async function emptyFolder(folder: RunFolder) {
  await rm(folder.configuration, { recursive: true })
  mkdirSync(folder.configuration, { mode: 0o700 })
  handOver(folder.configuration, folder)
}

async function* hashed(archive: Readable, hash: Hash) {
  for await (const chunk of archive as AsyncIterable<Buffer>) {
    hash.update(chunk)
    yield chunk
  }
}

/** Enters a prepared folder, and writes the files that differ from job to job. */
export async function enterFolder(jobContext: JobContext, folder: RunFolder): Promise<EngineContext> {
  const { job, agent } = jobContext
  const problem = entryProblem({ path: job.workingDirectory, type: 'Directory' }, newSeenEntries())
  if (problem !== undefined) throw new Error(`the working directory "${job.workingDirectory}" ${problem}`)
  // Put in place at once: an engine that makes the documents of the plan may be about to read it.
  const draft = `${folder.cliConfig}.draft`
  const { apiUrl } = agent
  const engineApiUrl = await jobContext.engineApiUrl
  writeCliConfig(draft, { engineApiUrl, apiUrl, token: job.engineToken, hostNames: job.hostNames })
  handOver(draft, folder)
  renameSync(draft, folder.cliConfig)
  await agent.confinement.prepare(folder)
  const environment = engineEnvironment(job, folder, agent)
  return { ...jobContext, folder, environment, workingFolder: join(folder.configuration, job.workingDirectory) }
}

/** The files that an engine reads as configuration. */
const CONFIGURATION = /^[^.].*\.(?:tf|tofu)(?:\.json)?$/

/**
 * Throws when there is nothing to plan: what we add to the folder hides that from the engine, and it would plan to destroy all that
 * the workspace manages. Only a destroy may come with an empty configuration, which has no folders either.
 */
function requireConfiguration({ folder, workingFolder, job }: EngineContext) {
  const isThere = factsOf(workingFolder)?.isDirectory() === true
  if (job.options.isDestroy) {
    if (!isThere) makeWorkingFolder(folder, workingFolder)
    return
  }
  const place =
    job.workingDirectory === '' ? 'root' : `folder "${job.workingDirectory}", the workspace's working directory`
  if (!isThere) throw new Error(`the configuration has no ${place}`)
  const names = readdirSync(workingFolder)
  if (names.some((name) => CONFIGURATION.test(name))) return
  throw new Error(
    `the configuration has no .tf files in its ${place}: a plan would destroy everything; start a destroy run if that is meant`,
  )
}

function makeWorkingFolder(folder: RunFolder, workingFolder: string) {
  mkdirSync(workingFolder, { recursive: true })
  for (let path = workingFolder; path !== folder.configuration; path = dirname(path)) handOver(path, folder)
}

/**
 * Runs `init`, unless its result is cached. Its output is logged only when it fails or the run is debugged. Throws `EngineFailed`.
 */
export async function runInit(context: EngineContext) {
  const { job, log, stop, folder } = context
  // What can't be read there fails the init as well, which can explain it.
  const cached = await openInitCache(context).catch(() => undefined)
  if (cached?.restore()) return log.write('Initialized as in an earlier run of this configuration.\n')
  const said: Buffer[] = []
  const onOutput = (lines: Buffer) => (job.options.debug ? log.write(lines) : void said.push(lines))
  const init = async () => runEngine(context, ['init', '-input=false'], { onOutput })
  const initAndShare = async () => {
    try {
      return await init()
    } finally {
      await shareProviders(context)
    }
  }
  const pinned = existsSync(lockFile(context))
  const providers = `${job.workspaceId} ${await lockFileDigest(context)}`
  const code = await folder.cache.initGate.pass(providers, stop.interrupt, (alone) => {
    // Without a lock file a version may have come out that the cache has not.
    return alone || !pinned ? whileFilling(folder.cache, initAndShare) : init()
  })
  if (code === 0) return cached?.save().catch(() => {})
  log.write(Buffer.concat(said))
  throw new EngineFailed('init', code)
}
