import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import type { RunUser } from '../process/user-processes.ts'
import { parseJson } from '../server/connection.ts'
import type { PluginCache, PluginCaches } from './plugin-caches.ts'
import type { createIdPool } from './run-users.ts'

/** Plugins listen on unix sockets in TMPDIR, whose whole path may have 107 bytes; their names take about 20. */
const MAX_TMP_PATH_BYTES = 80
const KEPT = 'kept.json'

const keptFacts = z.object({
  runId: z.string(),
  jobId: z.string(),
  engineVersion: z.string(),
  keptAt: z.number(),
  tmp: z.string(),
  organizationId: z.string(),
  uid: z.number().optional(),
})

/**
 * The directories of one run, all below `root`. As a dedicated user the run may write `configuration`, `home`, `tmp` and
 * `output` only. The agent's own files are next to them, out of reach of the run's links.
 */
export type RunDirectory = {
  root: string
  user: RunUser | undefined
  cache: PluginCache
  /** The unpacked archive. */
  configuration: string
  /** HOME of the engine. */
  home: string
  tmp: string
  /** Variable files; they hold secrets and go when a phase ends. */
  variables: string
  /** The plan file of the engine. */
  output: string
  planFile: string
  planJson: string
  cliConfig: string
  /** Resolves when a plan whose outcome was reported early has delivered its documents and needs the directory no more. */
  documents?: Promise<void>
}

/** Working directory of a run's processes, which may be below that of its configuration. */
export type RunSite = { directory: RunDirectory; workingDirectory: string }

type Kept = {
  directory: RunDirectory
  jobId: string
  engineVersion: string
  keptAt: number
  /** While the directory is shut: resolves when it is. */
  shut?: Promise<void>
}

type DirectoryLimits = {
  /** How long a directory waits for its apply, in ms. */
  keepMs: number
  /** How many wait; the oldest goes first. */
  keepCount: number
}

/** Owner of the directories; without `users` the agent's own user. */
export type DirectoryOwners = {
  caches: PluginCaches
  users: (ReturnType<typeof createIdPool> & { clear: (uid: number) => Promise<void> }) | undefined
  /** Roots of directories in which an engine may still work that an earlier agent has started. */
  inUse?: ReadonlySet<string>
}

/**
 * The working directories of an agent. The directory of a plan is kept for its apply, which then needs no download and no init; it
 * goes after the apply, or when it has waited too long. Kept ones survive a restart of the agent, all others are removed by it.
 */
export type RunDirectories = Awaited<ReturnType<typeof openRunDirectories>>

export async function openRunDirectories(
  workDir: string,
  { keepMs, keepCount }: DirectoryLimits,
  owners: DirectoryOwners,
) {
  const { caches, users } = owners
  const parent = join(workDir, 'runs')
  await mkdir(parent, { recursive: true, mode: 0o700 })
  await chmod(parent, users === undefined ? 0o700 : 0o711)
  const kept = await readKept(parent, owners)

  async function remove(directory: RunDirectory) {
    const { user, root, tmp, cache } = directory
    await directory.documents
    // A process that has left its group would go on in a directory, and under an id, that others get next.
    if (user !== undefined) await users?.clear(user.uid)
    await rm(root, { recursive: true, force: true })
    if (!tmp.startsWith(root)) await rm(tmp, { recursive: true, force: true })
    if (user !== undefined) users?.free(user.uid)
    caches.leave(cache.organizationId)
  }

  async function clear({ user }: RunDirectory) {
    if (user !== undefined) await users?.clear(user.uid)
  }

  /** Takes a directory from its run, and what only a phase needs out of it. */
  async function shut(directory: RunDirectory) {
    await clear(directory)
    // A later run with the same user id must not get in here.
    chmodSync(directory.root, 0o700)
    rmSync(directory.variables, { recursive: true, force: true })
    rmSync(directory.cliConfig, { force: true })
  }

  /** As a rule the apply has begun by then, and has taken the directory. */
  async function shutAfterDocuments(runId: string, entry: Kept) {
    await entry.directory.documents
    if (kept.get(runId) === entry) entry.shut = shut(entry.directory).catch(() => {})
  }

  async function sweep() {
    const oldest = [...kept].toSorted(([, a], [, b]) => a.keptAt - b.keptAt)
    const surplus = oldest.length - keepCount
    const due = oldest.filter(([, { keptAt }], index) => index < surplus || Date.now() - keptAt > keepMs)
    for (const [runId] of due) kept.delete(runId)
    await Promise.all(due.map(([, { directory }]) => remove(directory)))
  }

  /** Removes a directory that was in use when the agent started. */
  async function removeLeft({ root, tmp, uid }: { root: string; tmp: string; uid?: number | undefined }) {
    if (uid !== undefined) await users?.clear(uid)
    for (const path of [root, tmp]) await rm(path, { recursive: true, force: true })
    if (uid !== undefined) users?.free(uid)
  }

  return {
    remove,
    /** Ends what the run has left running. */
    clear,
    removeLeft,
    sweep,
    warmRunIds: () => [...kept.keys()].slice(-100),

    async create(job: AgentJob): Promise<RunDirectory> {
      const cache = await caches.enter(job.organizationId)
      const user = users && { uid: users.take(), gid: cache.gid ?? 0 }
      const root = mkdtempSync(join(parent, `${job.runId}-`))
      const short = Buffer.byteLength(join(root, 'tmp')) <= MAX_TMP_PATH_BYTES
      const tmp = short ? join(root, 'tmp') : mkdtempSync(join(tmpdir(), 'groundstate-'))
      const directory = directoryAt(root, { tmp, user, cache })
      for (const path of [directory.configuration, directory.home, directory.output, tmp]) {
        mkdirSync(path, { recursive: true, mode: 0o700 })
        handOver(path, directory)
      }
      open(directory)
      return directory
    },

    /**
     * The directory that the plan of this very job has left with this engine, which is the caller's from now on. That of another
     * attempt is removed: the server has never heard of its plan, or not accepted it.
     */
    async take(runId: string, plan: { jobId: string | undefined; engineVersion: string }) {
      const found = kept.get(runId)
      if (found === undefined) return undefined
      kept.delete(runId)
      await found.shut
      // Without its mark the directory goes when the agent starts again: it may be half way through an apply.
      rmSync(join(found.directory.root, KEPT), { force: true })
      if (found.jobId === plan.jobId && found.engineVersion === plan.engineVersion) {
        open(found.directory)
        return found.directory
      }
      await remove(found.directory)
      return undefined
    },

    /**
     * Has the documents of a plan made in the directory that it has left, which goes to the apply meanwhile or afterwards. Undefined where
     * the directory is not there: the apply has taken it. Nothing awaits before the directory is held.
     */
    makeDocuments(job: Pick<AgentJob, 'id' | 'runId'>, make: (directory: RunDirectory) => Promise<void>) {
      const entry = kept.get(job.runId)
      if (entry?.jobId !== job.id) return undefined
      const made = make(entry.directory)
      entry.directory.documents = made.catch(() => {})
      void shutAfterDocuments(job.runId, entry)
      return made
    },

    async keep(directory: RunDirectory, job: Pick<AgentJob, 'id' | 'runId'>, engineVersion: string) {
      const { id: jobId, runId } = job
      const { organizationId } = directory.cache
      const uid = directory.user?.uid
      if (directory.documents === undefined) await shut(directory)
      const facts = { runId, jobId, engineVersion, keptAt: Date.now(), tmp: directory.tmp, organizationId, uid }
      writeFileSync(join(directory.root, KEPT), JSON.stringify(facts))
      const earlier = kept.get(runId)
      const entry: Kept = { directory, jobId, engineVersion, keptAt: facts.keptAt }
      kept.set(runId, entry)
      if (directory.documents !== undefined) void shutAfterDocuments(runId, entry)
      if (earlier) await remove(earlier.directory)
      await sweep()
    },
  }
}

/** Lets the user of a run, and of what is its own, into the directory. */
function open({ root, variables, user }: RunDirectory) {
  mkdirSync(variables, { recursive: true, mode: 0o700 })
  if (user === undefined) return
  chmodSync(variables, 0o711)
  chmodSync(root, 0o711)
}

/** Gives a file that the agent has written for a run to the run's user. */
export function handOver(path: string, { user }: Pick<RunDirectory, 'user'>) {
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

async function readKept(parent: string, { caches, users, inUse }: DirectoryOwners): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (const name of await readdir(parent)) {
    const root = join(parent, name)
    if (inUse?.has(root)) continue
    const text = await readFile(join(root, KEPT), 'utf8').catch(() => '{}')
    const facts = keptFacts.safeParse(parseJson(text))
    const { uid } = facts.data ?? {}
    // The directory refers to its providers in the cache, and may rest on one that is not there any more.
    const hasProviders = facts.success && caches.has(facts.data.organizationId)
    // The files of a run belong to its user: no other one, and the agent's own, can go on with them.
    const usable = hasProviders && (users === undefined ? uid === undefined : uid !== undefined && users.reserve(uid))
    if (facts.success && usable) {
      const { runId, tmp, organizationId, jobId, engineVersion, keptAt } = facts.data
      const cache = await caches.enter(organizationId)
      const user = uid === undefined ? undefined : { uid, gid: cache.gid ?? 0 }
      kept.set(runId, { directory: directoryAt(root, { tmp, user, cache }), jobId, engineVersion, keptAt })
    } else await rm(root, { recursive: true, force: true })
  }
  return kept
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
    variables: join(root, 'variables'),
    planFile: join(output, 'run.tfplan'),
    planJson: join(root, 'plan.json'),
    cliConfig: join(root, 'cli.tfrc'),
  }
}
