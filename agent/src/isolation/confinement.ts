import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { access, chmod, constants, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, isAbsolute, join, sep } from 'node:path'
import { promisify } from 'node:util'
import type { AgentLog } from '../log.ts'
import { messageOf, reasonOf } from '../process/errors.ts'
import type { Exit } from '../process/launcher-process.ts'
import { createLauncher } from '../process/launcher.ts'
import type { ProcessSpec } from '../process/process.ts'
import { endProcessesOf } from '../process/user-processes.ts'
import { type ResourceLimits, openCgroups } from './cgroup.ts'
import { openRunUsers } from './leftovers.ts'
import { openPluginCaches } from './plugin-caches.ts'
import type { RunDirectory, RunSite } from './run-directory.ts'
import { type IdBlock, claimIds, createIdPool, freeIds } from './run-users.ts'
import { exitInSandbox, openSandbox } from './sandbox.ts'

export type ConfinementOptions = {
  /** `user` runs each run as a dedicated user, `auto` does so where possible; the agent's own user otherwise. */
  isolation?: 'auto' | 'user' | 'off' | undefined
  /** First user and group id for runs; unused ids by default. */
  firstRunUser?: number | undefined
  sandbox?: boolean | undefined
  hiddenDirectories?: readonly string[] | undefined
  limits?: ResourceLimits | undefined
  /** A directory of programs to run before and after plans and applies. */
  hooks?: string | undefined
  /** Sources of providers besides the server: https addresses of network mirrors, absolute directories, or `direct`; the registries by default. */
  providerMirrors?: readonly string[] | undefined
}

/** File with the first user id of the agent's previous block. */
const LAST_USERS = 'run-users'

const DEFAULT_PIDS = 4_096

/** The isolation of runs from the rest of the machine. */
export type Confinement = Awaited<ReturnType<typeof openConfinement>>

type Site = {
  workDir: string
  enginePath: string | undefined
  log: AgentLog
  certificates: string | undefined
  /** Users whose processes continue: engines of an earlier agent that are storing their state. */
  sparedUsers: ReadonlySet<number>
}

/** Prepares the requested isolation. Throws when an option is not supported on this machine. */
export async function openConfinement(options: ConfinementOptions, site: Site) {
  const { limits = {}, hooks, providerMirrors = [], hiddenDirectories = [] } = options
  const { workDir, enginePath, certificates } = site
  const mirrors = providerMirrors.filter((source) => isAbsolute(source))
  using stack = new DisposableStack()
  await requireHooks(options)
  const block = await claimUsers(options, site)
  if (block !== undefined) stack.use(block)
  await requireMirrors(options, { hasRunUsers: block !== undefined })
  await chmod(workDir, block === undefined ? 0o700 : 0o711)
  // A limit of processes alone needs no cgroup: it applies to all processes of the user.
  const needsCgroup = limits.memory !== undefined || limits.cpu !== undefined || (limits.pids !== undefined && !block)
  const opened = needsCgroup ? await openCgroups(limits) : undefined
  if (typeof opened === 'string') site.log.warn({}, `the limits of runs are not enforced: ${opened}`)
  const cgroups = typeof opened === 'string' ? undefined : opened
  const wrapper = block === undefined ? [] : await launcherWrapper(limits.pids ?? DEFAULT_PIDS)
  const launcher = stack.use(createLauncher(wrapper))
  const groups = block && { first: block.first, size: block.size, next: block.next }
  const caches = await openPluginCaches(workDir, groups && createIdPool(groups))
  const shown = [hooks, enginePath, certificates, ...mirrors].filter((path) => path !== undefined)
  const firstUser = block && { uid: block.first, gid: block.first }
  const sandbox = options.sandbox
    ? await openSandbox({ hidden: [...hiddenDirectories, workDir], shown }, launcher, firstUser)
    : undefined

  /** Applies the run's user, limits and sandbox to a command. */
  function confine(command: Omit<ProcessSpec, 'cwd'>, context: RunSite, offline?: Offline): ProcessSpec {
    const spec = offline === undefined || sandbox !== undefined ? command : behind(offline.wrapper, command)
    const { user, configuration } = context.directory
    const cgroup = cgroups?.next()
    const own = { ...(user && { user }), ...(cgroup && { cgroup }) }
    if (sandbox !== undefined) {
      const options = offline === undefined ? [] : ['--unshare-net']
      return { ...spec, ...sandbox.wrap(spec, context, options), ...own, cwd: configuration }
    }
    const { workingDirectory } = context
    // The launcher is root, and would follow a link that the run created in place of a directory.
    const isReplaceable = user !== undefined && workingDirectory.startsWith(configuration + sep)
    return { ...spec, ...own, cwd: workingDirectory, ...(isReplaceable && { root: configuration }) }
  }

  const owned = stack.move()
  return {
    launcher,
    caches,
    users: block && openRunUsers(block, { launcher, log: site.log }, site.sparedUsers),
    confine,
    hasSandbox: sandbox !== undefined,
    /** Writes the files that the confinement of this run needs. */
    prepare: async (directory: RunDirectory) => sandbox?.prepare(directory),
    exitOf: sandbox === undefined ? (exit: Exit) => exit : exitInSandbox,
    memoryMessage: (file: string) =>
      `${basename(file)} exceeded the memory limit of runs, which is ${inUnits(limits.memory)}`,
    [Symbol.dispose]: () => owned.dispose(),
  }
}

/** Without the sandbox, a command that starts another one without a network. */
type Offline = { wrapper: readonly string[] }

/** A command that is started by another one. */
export function behind<T extends { file: string; args: string[] }>([file, ...args]: readonly string[], spec: T): T {
  return file === undefined ? spec : { ...spec, file, args: [...args, spec.file, ...spec.args] }
}

type IsolationSite = Pick<Site, 'workDir' | 'enginePath'> & { firstRunUser: number | undefined }

/** The reason why runs cannot have dedicated users here, if any. Has no side effects. */
export async function isolationProblem(site: IsolationSite): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it requires Linux'
  if (process.geteuid?.() !== 0) return 'the agent is not running as root'
  const ids = await freeIds(site.firstRunUser)
  if (typeof ids === 'string') return ids
  const closed = await closedDirectory(dirname(site.workDir))
  if (closed !== undefined) return `other users cannot enter ${closed}, above the working directory ${site.workDir}`
  return engineProblem(site.enginePath)
}

/** The reason why programs cannot run in a sandbox here, if any. */
export async function sandboxProblem(): Promise<string | undefined> {
  using launcher = createLauncher()
  return await openSandbox({ hidden: [], shown: [] }, launcher, undefined).then(() => undefined, messageOf)
}

async function claimUsers(options: ConfinementOptions, site: Site): Promise<IdBlock | undefined> {
  const { isolation = 'auto', firstRunUser } = options
  if (isolation === 'off') return undefined
  const problem = await isolationProblem({ ...site, firstRunUser })
  const lastFile = join(site.workDir, LAST_USERS)
  const last = Number(await readFile(lastFile, 'utf8').catch(() => 'NaN'))
  const block = problem ?? (await claimIds(firstRunUser, { last }))
  if (typeof block !== 'string') {
    await writeFile(lastFile, String(block.first), { mode: 0o600 })
    // Processes that a killed agent left under these ids.
    const ids = Array.from({ length: block.size }, (_, index) => block.first + index)
    await endProcessesOf(ids.filter((id) => !site.sparedUsers.has(id)))
    return block
  }
  if (isolation === 'user') throw new Error(`runs cannot have dedicated users: ${block}`)
  const message = `runs execute as the agent's own user and can read what it can: ${block}`
  site.log[process.geteuid?.() === 0 ? 'warn' : 'info']({}, message)
  return undefined
}

/** All processes of runs descend from the launcher and inherit its limits, which do not apply to it as root. */
async function launcherWrapper(pids: number): Promise<string[]> {
  const parts = await Promise.all([
    wrapperPart('setpriv', ['--no-new-privs']),
    wrapperPart('prlimit', ['--core=0', `--nproc=${pids}`]),
  ])
  return parts.flat()
}

/** The command of a system program that starts another one; empty if it is missing or not permitted. */
async function wrapperPart(name: string, args: string[]): Promise<string[]> {
  const file = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path))
  if (file === undefined) return []
  return promisify(execFile)(file, [...args, '/bin/sh', '-c', ':'], { env: {} }).then(
    () => [file, ...args],
    () => [],
  )
}

/** The topmost ancestor of a directory that other users cannot enter. */
async function closedDirectory(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) return path === '/' ? undefined : closedDirectory(dirname(path))
  const above = real === '/' ? undefined : await closedDirectory(dirname(real))
  return above ?? (((await stat(real)).mode & 0o001) === 0 ? real : undefined)
}

/** Describes an engine that only root may execute, which would fail every run. */
async function engineProblem(enginePath: string | undefined): Promise<string | undefined> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const named = directories.flatMap((directory) => [join(directory, 'terraform'), join(directory, 'tofu')])
  const paths = (enginePath === undefined ? named : [enginePath]).filter((path) => existsSync(path))
  const closed = await Promise.all(paths.map(closedDirectory))
  const first = closed[0]
  return first !== undefined && !closed.includes(undefined) ? `other users cannot execute ${first}` : undefined
}

async function requireDirectory(variable: string, path: string) {
  // The slash rejects a file.
  await access(`${path}/`, constants.R_OK | constants.X_OK).catch((cause: unknown) => {
    throw new Error(`${variable} ${path}: ${reasonOf(cause)}`, { cause })
  })
}

/** Throws unless the agent can use the directory of hooks, if there is one. */
export async function requireHooks({ hooks }: Pick<ConfinementOptions, 'hooks'>) {
  if (hooks !== undefined) await requireDirectory('GROUNDSTATE_HOOKS', hooks)
}

/** Throws unless the agent, and dedicated users of runs, can enter the directories of providers. */
export async function requireMirrors(
  { providerMirrors = [] }: Pick<ConfinementOptions, 'providerMirrors'>,
  { hasRunUsers }: { hasRunUsers: boolean },
) {
  for (const mirror of providerMirrors.filter((source) => isAbsolute(source))) {
    await requireDirectory('GROUNDSTATE_PROVIDER_MIRROR', mirror)
    const closed = hasRunUsers ? await closedDirectory(mirror) : undefined
    if (closed !== undefined) {
      const problem = `the users of runs cannot enter ${closed}: run chmod o+x on it`
      throw new Error(`GROUNDSTATE_PROVIDER_MIRROR ${mirror}: ${problem}`)
    }
  }
}

function inUnits(bytes = 0): string {
  const mebibytes = bytes / 1024 ** 2
  return mebibytes >= 1024 ? `${Number((mebibytes / 1024).toFixed(2))} GiB` : `${Number(mebibytes.toFixed(2))} MiB`
}
