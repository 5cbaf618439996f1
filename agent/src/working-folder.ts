import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { writeCliConfig } from './cli-config.ts'
import { placeConfiguration } from './configuration-cache.ts'
import type { JobContext, EngineContext } from './context.ts'
import { engineEnvironment } from './environment.ts'
import { factsOf } from './facts-of.ts'
import { lockFile, lockFileDigest } from './lock-file.ts'
import { forgetEarlierState, writeOverride } from './override.ts'
import { whileFilling } from './plugin-caches.ts'
import { EngineFailed, runEngine } from './run-engine.ts'
import { handOver, type RunFolder } from './run-folder.ts'
import { shareProviders } from './shared-cache.ts'
import { openWarmInit } from './warm-init.ts'

/** Prepares a new folder with the job's configuration and all that the engine needs, short of `init`. */
export async function prepareFolder(jobContext: JobContext, folder: RunFolder): Promise<EngineContext> {
  const { job } = jobContext
  const signal = AbortSignal.any([jobContext.alive, jobContext.stop.interrupt])
  const configurationFacts = await placeConfiguration(jobContext, folder, signal)
  const context = { ...(await enterFolder(jobContext, folder)), configurationFacts }
  requireConfiguration(context)
  await forgetEarlierState(context.workingFolder)
  const override = { organization: job.organizationName, name: job.workspaceName }
  handOver(writeOverride(context.workingFolder, override), folder)
  return context
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
 * Runs `init`, unless an earlier run of this agent has done so whose outcome can't be another one now. Its output is logged only
 * when it fails or the run is debugged. Throws `EngineFailed`.
 */
export async function runInit(context: EngineContext) {
  const { job, log, stop, folder } = context
  const warm = await openWarmInit(context)
  if (await warm?.take()) return log.write('Initialized as in an earlier run of this configuration.\n')
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
  if (code === 0) return warm?.keep()
  log.write(Buffer.concat(said))
  throw new EngineFailed('init', code)
}
