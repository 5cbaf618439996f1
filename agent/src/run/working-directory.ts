import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { engineEnvironment } from '../engine/environment.ts'
import { markIncompleteDuring } from '../isolation/plugin-caches.ts'
import { type RunDirectory, chownToRun } from '../isolation/run-directory.ts'
import { statsOf } from '../process/confined-file.ts'
import type { EngineContext, JobContext } from './context.ts'
import { openInitCache } from './init-cache.ts'
import { EngineFailed, lockFile, lockFileDigest, runEngine } from './run-engine.ts'
import { makeDirectory, unpackArchive } from './unpack.ts'

/** Prepares a new directory with the job's configuration for `init`. */
export async function prepareDirectory(jobContext: JobContext, directory: RunDirectory): Promise<EngineContext> {
  const { job, client } = jobContext
  const signal = AbortSignal.any([jobContext.alive, jobContext.stop.interrupt])
  let isFirst = true
  const archiveDigest = await client.getConfiguration(signal, async (archive) => {
    if (!isFirst) await emptyDirectory(directory)
    isFirst = false
    return unpackArchive(archive, directory)
  })
  const context = { ...(await enterDirectory(jobContext, directory)), archiveDigest }
  requireConfiguration(context)
  await removeEarlierState(context.workingDirectory)
  chownToRun(writeOverride(context.workingDirectory, job), directory)
  return context
}

async function emptyDirectory(directory: RunDirectory) {
  await rm(directory.configuration, { recursive: true })
  mkdirSync(directory.configuration, { mode: 0o700 })
  chownToRun(directory.configuration, directory)
}

export async function enterDirectory(jobContext: JobContext, directory: RunDirectory): Promise<EngineContext> {
  const { job, agent } = jobContext
  const problem = entryProblem({ path: job.workingDirectory, type: 'Directory' }, newSeenEntries())
  if (problem !== undefined) throw new Error(`the working directory "${job.workingDirectory}" ${problem}`)
  // Replaced atomically: an engine that creates the documents of the plan may be about to read it.
  const draft = `${directory.cliConfig}.draft`
  writeCliConfig(draft, jobContext, await jobContext.engineApiUrl)
  chownToRun(draft, directory)
  renameSync(draft, directory.cliConfig)
  await agent.confinement.prepare(directory)
  writeSshKey(directory, job)
  const environment = engineEnvironment(job, directory, agent)
  const workingDirectory = join(directory.configuration, job.workingDirectory)
  return { ...jobContext, directory, environment, ownVariables: {}, workingDirectory }
}

/** Like the other files of the phase, the key is removed when it ends. */
function writeSshKey(directory: RunDirectory, { sshKey }: JobContext['job']) {
  if (sshKey === undefined) return
  writeFileSync(directory.sshKey, sshKey, { mode: 0o600 })
  chownToRun(directory.sshKey, directory)
}

/** The hostname of the server in the configuration. It does not resolve: the engine uses only the services configured below. */
const ENGINE_HOST = 'groundstate.internal'

/**
 * Writes the CLI configuration of one run. Its `host` blocks avoid a discovery request over https; the token is valid under every name
 * of the server. Data sources use the server directly, the engine's own workspace is at `engineApiUrl`.
 */
function writeCliConfig(path: string, { agent: { apiUrl, providerMirrors }, job }: JobContext, engineApiUrl: string) {
  const names = serverNames(apiUrl, job)
  const services = servicesAt(apiUrl)
  const config = {
    disable_checkpoint: true,
    host: {
      ...Object.fromEntries(names.map((name) => [name, { services }])),
      [ENGINE_HOST]: { services: servicesAt(engineApiUrl) },
    },
    credentials: Object.fromEntries(names.map((name) => [name, { token: job.engineToken }])),
    ...(providerMirrors && { provider_installation: providerInstallation(providerMirrors, names) }),
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
}

/** A host as engines accept it in patterns of providers, which have no form for IPv6 addresses. */
const HOST_IN_PATTERN = /^[^[\]:]+(?::\d+)?$/

/** The `provider_installation` block: the server's providers always come from its registry, all others from the mirrors. */
function providerInstallation(mirrors: readonly string[], serverHosts: readonly string[]) {
  const own = serverHosts.filter((host) => HOST_IN_PATTERN.test(host)).map((host) => `${host}/*/*`)
  const paths = mirrors.filter((source) => isAbsolute(source))
  const urls = mirrors.filter((source) => source.startsWith('https://'))
  const methods = {
    filesystem_mirror: paths.map((path) => ({ path, exclude: own })),
    network_mirror: urls.map((url) => ({ url, exclude: own })),
    direct: [mirrors.includes('direct') ? { exclude: [] } : { include: own }],
  }
  // Engines reject an empty list.
  return Object.fromEntries(Object.entries(methods).filter(([, blocks]) => blocks.length > 0))
}

/** The hosts by which a configuration may refer to the server. */
export function serverNames(apiUrl: string, { hostNames }: Pick<JobContext['job'], 'hostNames'>): string[] {
  return [...new Set([ENGINE_HOST, new URL(apiUrl).host, ...hostNames])]
}

function servicesAt(apiUrl: string) {
  const [modules, providers] = ['modules', 'providers'].map((kind) => new URL(`../registry/v1/${kind}/`, apiUrl).href)
  return {
    'tfe.v2': apiUrl,
    'tfe.v2.1': apiUrl,
    'tfe.v2.2': apiUrl,
    'state.v2': apiUrl,
    'modules.v1': modules,
    'providers.v1': providers,
  }
}

const CONFIGURATION = /^[^.].*\.(?:tf|tofu)(?:\.json)?$/

/**
 * Throws if there is no configuration: the override file hides that from the engine, which would plan to destroy everything. Only a
 * destroy run may have none, and then no working directory either.
 */
function requireConfiguration({ directory, workingDirectory, job }: EngineContext) {
  const exists = statsOf(workingDirectory)?.isDirectory() === true
  if (job.options.isDestroy) {
    if (!exists) makeDirectory(workingDirectory, directory)
    return
  }
  const place =
    job.workingDirectory === '' ? 'root' : `directory "${job.workingDirectory}", the workspace's working directory`
  if (!exists) throw new Error(`the configuration has no ${place}`)
  if (readdirSync(workingDirectory).some((name) => CONFIGURATION.test(name))) return
  throw new Error(
    `the configuration has no .tf files in its ${place}: a plan would destroy everything; start a destroy run if that is intended`,
  )
}

/** State of the local backend, state and workspace selection of an earlier init. */
const EARLIER_STATE = [
  'terraform.tfstate',
  'terraform.tfstate.d',
  '.terraform/terraform.tfstate',
  '.terraform/environment',
]

/** Removes state of another backend from the archive: init would offer to migrate it, and use the workspace that was selected. */
async function removeEarlierState(workingDirectory: string) {
  for (const name of EARLIER_STATE) {
    const path = join(workingDirectory, name)
    const options = { recursive: true, force: true }
    // A large directory must not block other jobs.
    if (statsOf(path)?.isDirectory() === true) await rm(path, options)
    else rmSync(path, options)
  }
}

/** Override files are merged in the order of their names; the last one takes precedence. */
const OVERRIDE_FILE = 'zzzz_groundstate_override.tf.json'

/** Connects the configuration to its workspace: a `cloud` block in an override file replaces any `cloud` or `backend` block. */
function writeOverride(workingDirectory: string, job: JobContext['job']) {
  const path = join(workingDirectory, OVERRIDE_FILE)
  const workspaces = { name: job.workspaceName }
  const cloud = { hostname: ENGINE_HOST, organization: job.organizationName, workspaces }
  writeFileSync(path, JSON.stringify({ terraform: { cloud } }))
  return path
}

/** Runs `init`, unless its result is cached. Logs its output only if it fails or the run is debugged. Throws `EngineFailed`. */
export async function runInit(context: EngineContext) {
  const { job, log, stop, directory } = context
  // An unreadable file also fails the init, with a better message.
  const cached = await openInitCache(context).catch(() => undefined)
  if (cached?.restore()) return log.write('Initialized as in an earlier run of this configuration.\n')
  const output: Buffer[] = []
  const onOutput = (lines: Buffer) => (job.options.debug ? log.write(lines) : void output.push(lines))
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
    // Without a lock file, init may install a new version that is not in the cache.
    return alone || !pinned ? markIncompleteDuring(directory.cache, initAndShare) : init()
  })
  if (code === 0) return cached?.save().catch(() => {})
  log.write(Buffer.concat(output))
  throw new EngineFailed('init', code)
}

/**
 * Makes installed providers writable by the group of the organization; the engine permits only their owner. Runs as the run's user, to
 * have no further permissions.
 */
async function shareProviders({ agent, directory, workingDirectory }: EngineContext): Promise<void> {
  const { user, cache } = directory
  if (user === undefined) return
  // Without providers there is nothing to share.
  if ((await stat(join(workingDirectory, '.terraform/providers')).catch(() => undefined)) === undefined) return
  const unshared = [cache.path, '-user', String(user.uid), '!', '-type', 'l', '!', '-perm', '-g=rw']
  const args = [...unshared, '-exec', 'chmod', 'g+rwX', '{}', '+']
  const env = { PATH: '/usr/bin:/bin' }
  const { stdout, stderr, closed } = await agent.launcher.launch({ file: 'find', args, cwd: '/', env, user })
  for (const output of [stdout, stderr]) output.resume()
  await closed
}
