import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { diskUsage, removeTree } from '../process/confined-file.ts'
import type { RunUser } from '../process/user-processes.ts'
import { parseJson } from '../server/connection.ts'
import type { RunUsers } from './leftovers.ts'
import type { PluginCache, PluginCaches } from './plugin-caches.ts'

/** Plugins listen on unix sockets in TMPDIR, whose path may have 107 bytes; their names take about 20. */
const MAX_TMP_PATH_BYTES = 80
const KEPT = 'kept.json'
const VARIABLES = 'variables'

/** The content of `kept.json`, which marks a directory that waits for its apply. */
const keptRecord = z.object({
  runId: z.string(),
  workspaceId: z.string(),
  jobId: z.string(),
  engineVersion: z.string(),
  keptAt: z.number(),
  tmp: z.string(),
  organizationId: z.string(),
  uid: z.number().optional(),
})

/** The directories of one run, which may write only `configuration`, `home`, `tmp` and `output` as a dedicated user, and create no other links. */
export type RunDirectory = {
  root: string
  user: RunUser | undefined
  cache: PluginCache
  configuration: string
  home: string
  tmp: string
  /** Variable files, which contain secrets and are removed after each phase. */
  variables: string
  /** The private key for git, in `variables`. */
  sshKey: string
  /** Files with which the run proves its identity, in `variables`. */
  identity: string
  output: string
  planFile: string
  planJson: string
  cliConfig: string
  /** Resolves when the pending documents of a plan that was reported early no longer need the directory. */
  documents?: Promise<void>
}

/** Working directory of a run's processes, which may be below that of its configuration. */
export type RunSite = { directory: RunDirectory; workingDirectory: string }

type Kept = {
  directory: RunDirectory
  workspaceId: string
  jobId: string
  engineVersion: string
  keptAt: number
  shut?: Promise<void>
  /** Disk space, once it was measured. */
  bytes?: number
}

/** Maximum time and number of directories that wait for their apply. */
const KEEP_MS = 24 * 3_600_000
const KEEP_COUNT = 50

type DirectoryJob = Pick<AgentJob, 'organizationId' | 'runId'> & Partial<Pick<AgentJob, 'withholdsSecrets'>>

/** Owners of the directories; without `users` the agent's own user. */
export type DirectoryOwners = {
  caches: PluginCaches
  users: RunUsers | undefined
  /** Roots of directories that may be in use by an engine of an earlier agent. */
  inUse?: ReadonlySet<string>
}

/**
 * The working directories of an agent. That of a plan is kept for its apply, which then needs no download and no init; kept ones survive
 * a restart of the agent, which removes all others.
 */
export type RunDirectories = Awaited<ReturnType<typeof openRunDirectories>>

/** `keepBytes` is the maximum disk space of the directories that wait for their apply. */
export async function openRunDirectories(workDir: string, keepBytes: number, owners: DirectoryOwners) {
  const { caches, users } = owners
  const parent = join(workDir, 'runs')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  await chmod(parent, users === undefined ? 0o700 : 0o711)
  const kept = await readKept(parent, owners)
  await users?.releaseUnused()

  async function remove({ documents, root, tmp, user, cache }: RunDirectory) {
    await documents
    await removeLeft({ root, tmp, uid: user?.uid })
    caches.leave(cache.organizationId)
  }

  /** Removes a directory that was in use when the agent started. */
  async function removeLeft({ root, tmp, uid }: { root: string; tmp: string; uid?: number | undefined }) {
    // A process outside the group could continue in a directory, and under an id, that another run gets next.
    if (uid !== undefined) await users?.clear(uid)
    for (const path of [root, tmp]) await removeTree(path)
    if (uid !== undefined) await users?.release(uid)
  }

  async function clear({ user }: RunDirectory) {
    if (user !== undefined) await users?.clear(user.uid)
  }

  /** Closes a directory to its run, and removes the files of its phase. */
  async function shut(directory: RunDirectory) {
    await clear(directory)
    if (dirname(directory.tmp) !== directory.root) await emptyTmp(directory)
    // A later run with the same user id must not have access.
    chmodSync(directory.root, 0o700)
    await removeVariables(directory.root)
    for (const path of [directory.cliConfig, directory.planJson]) rmSync(path, { force: true })
  }

  /** Temporary files outside the root would not count towards the limit, and no apply needs them. The run could replace their directory by a link. */
  async function emptyTmp(directory: RunDirectory) {
    await removeTree(directory.tmp)
    mkdirSync(directory.tmp, { mode: 0o700 })
    chownToRun(directory.tmp, directory)
  }

  /** Usually the apply has started by then and taken the directory. */
  async function shutAfterDocuments(runId: string, entry: Kept) {
    await entry.directory.documents
    if (kept.get(runId) === entry) entry.shut = shut(entry.directory).catch(() => {})
  }

  /** Removes the directories that exceed a limit, the oldest first: their applies start from the stored plan. */
  async function sweep() {
    const newest = [...kept].toSorted(([, a], [, b]) => b.keptAt - a.keptAt)
    let bytes = 0
    for (const [index, [runId, entry]] of newest.entries()) {
      await entry.directory.documents
      entry.bytes ??= await diskUsage(entry.directory.root)
      // The apply may have taken it.
      if (kept.get(runId) !== entry) continue
      const isRecent = index < KEEP_COUNT && Date.now() - entry.keptAt <= KEEP_MS
      if (isRecent && bytes + entry.bytes <= keepBytes) bytes += entry.bytes
      else {
        kept.delete(runId)
        await remove(entry.directory).catch(() => {})
      }
    }
  }

  return {
    remove,
    clear,
    removeLeft,
    sweep,
    warmRunIds: () => [...kept.keys()].slice(-100),

    async create(job: DirectoryJob): Promise<RunDirectory> {
      // The runs of an organization may write its cache: a fork must not prepare what later runs with secrets execute.
      const cache = await caches.enter(`${job.organizationId}${job.withholdsSecrets ? '-forks' : ''}`)
      const user = users && { uid: users.take(), gid: cache.gid ?? 0 }
      const root = mkdtempSync(join(parent, `${job.runId}-`))
      const short = Buffer.byteLength(join(root, 'tmp')) <= MAX_TMP_PATH_BYTES
      const tmp = short ? join(root, 'tmp') : mkdtempSync(join(tmpdir(), 'groundstate-'))
      const directory = directoryAt(root, { tmp, user, cache })
      for (const path of [directory.configuration, directory.home, directory.output, tmp]) {
        mkdirSync(path, { recursive: true, mode: 0o700 })
        chownToRun(path, directory)
      }
      open(directory)
      return directory
    },

    /** Takes the directory of this job's plan. Removes that of another attempt, whose plan the server never received or did not accept. */
    async take(runId: string, plan: { jobId: string | undefined; engineVersion: string }) {
      const entry = kept.get(runId)
      if (entry === undefined) return undefined
      kept.delete(runId)
      await entry.shut
      // Without this record a restart removes the directory: an apply may have changed it.
      rmSync(join(entry.directory.root, KEPT), { force: true })
      if (entry.jobId === plan.jobId && entry.engineVersion === plan.engineVersion) {
        open(entry.directory)
        return entry.directory
      }
      await remove(entry.directory)
      return undefined
    },

    /** Runs `make` in the kept directory of a plan; undefined if the apply has taken it. Holds the directory without awaiting. */
    createDocuments(job: Pick<AgentJob, 'id' | 'runId'>, make: (directory: RunDirectory) => Promise<void>) {
      const entry = kept.get(job.runId)
      if (entry?.jobId !== job.id) return undefined
      const made = make(entry.directory)
      entry.directory.documents = made.catch(() => {})
      void shutAfterDocuments(job.runId, entry)
      return made
    },

    /** Keeps a directory in place of those of other plans of the workspace: the applies of saved ones start from the stored plan. */
    async keep(directory: RunDirectory, job: Pick<AgentJob, 'id' | 'runId' | 'workspaceId'>, engineVersion: string) {
      const { id: jobId, runId, workspaceId } = job
      const { tmp, user, cache } = directory
      if (directory.documents === undefined) await shut(directory)
      const plan = { workspaceId, jobId, engineVersion, keptAt: Date.now() }
      const entry = { directory, ...plan }
      const record = { runId, ...plan, tmp, organizationId: cache.organizationId, uid: user?.uid }
      writeFileSync(join(directory.root, KEPT), JSON.stringify(record))
      const earlier = [...kept].filter(([id, other]) => id === runId || other.workspaceId === workspaceId)
      for (const [id] of earlier) kept.delete(id)
      kept.set(runId, entry)
      if (directory.documents !== undefined) void shutAfterDocuments(runId, entry)
      // The run need not wait for the documents of other plans, nor for the measuring of large directories.
      for (const [, other] of earlier) void remove(other.directory).catch(() => {})
      void sweep()
    },
  }
}

function open({ root, variables, user }: RunDirectory) {
  mkdirSync(variables, { recursive: true, mode: 0o700 })
  if (user === undefined) return
  chmodSync(variables, 0o711)
  chmodSync(root, 0o711)
}

/** Removes the files with secrets of a phase that has ended. */
export async function removeVariables(root: string) {
  await removeTree(join(root, VARIABLES))
}

/** Changes the owner of a file that the agent wrote for a run to the run's user. */
export function chownToRun(path: string, { user }: Pick<RunDirectory, 'user'>) {
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

async function readKept(parent: string, { caches, users, inUse }: DirectoryOwners): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (const name of await readdir(parent)) {
    const root = join(parent, name)
    if (inUse?.has(root)) continue
    const text = await readFile(join(root, KEPT), 'utf8').catch(() => '{}')
    const { data } = keptRecord.safeParse(parseJson(text))
    // The directory has links to its providers in the cache, which may no longer exist.
    if (data && caches.has(data.organizationId) && isUsable(data.uid, users)) {
      const { runId, workspaceId, tmp, organizationId, jobId, engineVersion, keptAt, uid } = data
      const cache = await caches.enter(organizationId)
      const user = uid === undefined ? undefined : { uid, gid: cache.gid ?? 0 }
      const directory = directoryAt(root, { tmp, user, cache })
      kept.set(runId, { directory, workspaceId, jobId, engineVersion, keptAt })
    } else await removeTree(root)
  }
  return kept
}

/** Whether the owner of a kept directory can continue; its files are not accessible to other users. */
function isUsable(uid: number | undefined, users: DirectoryOwners['users']): boolean {
  return users === undefined ? uid === undefined : uid !== undefined && users.reserve(uid)
}

function directoryAt(root: string, { tmp, user, cache }: Pick<RunDirectory, 'tmp' | 'user' | 'cache'>): RunDirectory {
  const output = join(root, 'output')
  return {
    root,
    tmp,
    user,
    cache,
    output,
    configuration: join(root, 'configuration'),
    home: join(root, 'home'),
    variables: join(root, VARIABLES),
    sshKey: join(root, VARIABLES, 'ssh-key'),
    identity: join(root, VARIABLES, 'identity'),
    planFile: join(output, 'run.tfplan'),
    planJson: join(root, 'plan.json'),
    cliConfig: join(root, 'cli.tfrc'),
  }
}
