import { type Hash, createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { engineEnvironment } from '../engine/environment.ts'
import { whileFilling } from '../isolation/plugin-caches.ts'
import { type RunDirectory, handOver } from '../isolation/run-directory.ts'
import { factsOf } from '../process/confined-file.ts'
import { unpackArchive } from './archive.ts'
import type { EngineContext, JobContext } from './context.ts'
import { openInitCache } from './init-cache.ts'
import { forgetEarlierState, writeCliConfig, writeOverride } from './override.ts'
import { EngineFailed, lockFile, lockFileDigest, runEngine } from './run-engine.ts'

/** Prepares a new directory with the job's configuration and all that the engine needs, short of `init`. */
export async function prepareDirectory(jobContext: JobContext, directory: RunDirectory): Promise<EngineContext> {
  const { job } = jobContext
  const signal = AbortSignal.any([jobContext.alive, jobContext.stop.interrupt])
  const archiveDigest = await unpackConfiguration(jobContext, directory, signal)
  const context = { ...(await enterDirectory(jobContext, directory)), archiveDigest }
  requireConfiguration(context)
  await forgetEarlierState(context.workingDirectory)
  const override = { organization: job.organizationName, name: job.workspaceName }
  handOver(writeOverride(context.workingDirectory, override), directory)
  return context
}

/** Unpacks the job's configuration into its directory, and returns the SHA-256 of the archive. */
async function unpackConfiguration(
  { client }: JobContext,
  directory: RunDirectory,
  signal: AbortSignal,
): Promise<string> {
  let isFirst = true
  return client.getConfiguration(signal, async (archive) => {
    // A download that broke off has left files here.
    if (!isFirst) await emptyDirectory(directory)
    isFirst = false
    const hash = createHash('sha256')
    await unpackArchive(
      Readable.from(hashed(archive, hash), { objectMode: false }),
      directory.configuration,
      directory.user,
    )
    return hash.digest('hex')
  })
}

async function emptyDirectory(directory: RunDirectory) {
  await rm(directory.configuration, { recursive: true })
  mkdirSync(directory.configuration, { mode: 0o700 })
  handOver(directory.configuration, directory)
}

async function* hashed(archive: Readable, hash: Hash) {
  for await (const chunk of archive as AsyncIterable<Buffer>) {
    hash.update(chunk)
    yield chunk
  }
}

/** Enters a prepared directory, and writes the files that differ from job to job. */
export async function enterDirectory(jobContext: JobContext, directory: RunDirectory): Promise<EngineContext> {
  const { job, agent } = jobContext
  const problem = entryProblem({ path: job.workingDirectory, type: 'Directory' }, newSeenEntries())
  if (problem !== undefined) throw new Error(`the working directory "${job.workingDirectory}" ${problem}`)
  // Put in place at once: an engine that makes the documents of the plan may be about to read it.
  const draft = `${directory.cliConfig}.draft`
  const { apiUrl } = agent
  const engineApiUrl = await jobContext.engineApiUrl
  writeCliConfig(draft, { engineApiUrl, apiUrl, token: job.engineToken, hostNames: job.hostNames })
  handOver(draft, directory)
  renameSync(draft, directory.cliConfig)
  await agent.confinement.prepare(directory)
  const environment = engineEnvironment(job, directory, agent)
  return {
    ...jobContext,
    directory,
    environment,
    workingDirectory: join(directory.configuration, job.workingDirectory),
  }
}

/** The files that an engine reads as configuration. */
const CONFIGURATION = /^[^.].*\.(?:tf|tofu)(?:\.json)?$/

/**
 * Throws when there is nothing to plan: what we add to the directory hides that from the engine, and it would plan to destroy all that
 * the workspace manages. Only a destroy may come with an empty configuration, which has no directories either.
 */
function requireConfiguration({ directory, workingDirectory, job }: EngineContext) {
  const isThere = factsOf(workingDirectory)?.isDirectory() === true
  if (job.options.isDestroy) {
    if (!isThere) makeWorkingDirectory(directory, workingDirectory)
    return
  }
  const place =
    job.workingDirectory === '' ? 'root' : `directory "${job.workingDirectory}", the workspace's working directory`
  if (!isThere) throw new Error(`the configuration has no ${place}`)
  const names = readdirSync(workingDirectory)
  if (names.some((name) => CONFIGURATION.test(name))) return
  throw new Error(
    `the configuration has no .tf files in its ${place}: a plan would destroy everything; start a destroy run if that is meant`,
  )
}

function makeWorkingDirectory(directory: RunDirectory, workingDirectory: string) {
  mkdirSync(workingDirectory, { recursive: true })
  for (let path = workingDirectory; path !== directory.configuration; path = dirname(path)) handOver(path, directory)
}

/**
 * Runs `init`, unless its result is cached. Its output is logged only when it fails or the run is debugged. Throws `EngineFailed`.
 */
export async function runInit(context: EngineContext) {
  const { job, log, stop, directory } = context
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
  const code = await directory.cache.initGate.pass(providers, stop.interrupt, (alone) => {
    // Without a lock file a version may have come out that the cache has not.
    return alone || !pinned ? whileFilling(directory.cache, initAndShare) : init()
  })
  if (code === 0) return cached?.save().catch(() => {})
  log.write(Buffer.concat(said))
  throw new EngineFailed('init', code)
}

/**
 * Opens what an init has put into the plugin cache to the other runs of the organization. The run's own user does so, who can
 * change nothing else; the engine makes directories that only their owner may write.
 */
async function shareProviders({ agent, directory, workingDirectory }: EngineContext): Promise<void> {
  const { user, cache } = directory
  if (user === undefined) return
  // A configuration without providers has filled nothing.
  if ((await stat(join(workingDirectory, '.terraform/providers')).catch(() => undefined)) === undefined) return
  const { path } = cache
  const unshared = [path, '-user', String(user.uid), '!', '-type', 'l', '!', '-perm', '-g=rw']
  const args = [...unshared, '-exec', 'chmod', 'g+rwX', '{}', '+']
  const env = { PATH: '/usr/bin:/bin' }
  const { stdout, stderr, closed } = await agent.launcher.launch({ file: 'find', args, cwd: '/', env, user })
  for (const output of [stdout, stderr]) output.resume()
  await closed
}
