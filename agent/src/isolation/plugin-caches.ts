import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree, statsOf } from '../process/confined-file.ts'
import { untilAborted } from '../process/process.ts'
import type { IdPool } from './run-users.ts'

/** The providers shared by the runs of an organization, or by those of its forks; members of its group may write them. */
export type PluginCache = { organizationId: string; path: string; gid: number | undefined; initGate: InitGate }

/** Marker file next to the directory for each init that may be writing: an interrupted one may leave truncated files. */
const INCOMPLETE = '.filling-'
let inits = 0

/** Opens the plugin caches of an agent. `groups` allocates their group ids when runs have dedicated users; idle caches are evicted for them. */
export async function openPluginCaches(workDir: string, groups: IdPool | undefined) {
  const parent = join(workDir, 'plugins')
  await mkdir(parent, { recursive: true })
  await chmod(parent, groups === undefined ? 0o700 : 0o711)
  const caches = new Map<string, PluginCache>()
  const users = new Map<string, number>()
  let discarded = 0

  const names = await readdir(parent)
  for (const name of names) {
    const path = join(parent, name)
    const { gid } = await stat(path)
    const isComplete = isOrganization(name) && !names.some((other) => other.startsWith(`${name}${INCOMPLETE}`))
    if (isComplete && (groups === undefined ? gid === process.getegid?.() : groups.reserve(gid))) add(name, gid)
    else await removeTree(path)
  }

  function add(organizationId: string, gid: number): PluginCache {
    const path = join(parent, organizationId)
    const cache = { organizationId, path, gid: groups && gid, initGate: createInitGate() }
    caches.set(organizationId, cache)
    return cache
  }

  function takeGroup(): number {
    if (groups === undefined) return process.getegid?.() ?? 0
    try {
      return groups.take()
    } catch (error) {
      const idle = [...caches.values()].find(({ organizationId }) => !users.has(organizationId))
      if (idle?.gid === undefined) throw error
      caches.delete(idle.organizationId)
      // It is writable by the group, which another organization gets.
      rmSync(idle.path, { recursive: true, force: true })
      groups.free(idle.gid)
      return groups.take()
    }
  }

  /** Synchronous, so that concurrent runs get the same cache. */
  function findOrAdd(organizationId: string): PluginCache {
    if (!isOrganization(organizationId)) throw new Error(`invalid organization id "${organizationId}"`)
    const cache = caches.get(organizationId) ?? add(organizationId, takeGroup())
    caches.delete(organizationId)
    caches.set(organizationId, cache)
    return cache
  }

  /** Discards the providers of killed inits, which may be truncated. Replaces the cache without awaiting. */
  function discardIncomplete({ organizationId, path, gid }: PluginCache) {
    const marks = readdirSync(parent).filter((name) => name.startsWith(`${organizationId}${INCOMPLETE}`))
    if (marks.length === 0) return
    const broken = `${path}.broken-${process.pid}-${(discarded += 1)}`
    renameSync(path, broken)
    for (const mark of marks) rmSync(join(parent, mark))
    caches.set(organizationId, { organizationId, path, gid, initGate: createInitGate() })
    removeTree(broken).catch(() => {})
  }

  return {
    has: (organizationId: string) => caches.has(organizationId),
    /** The cache of an organization; it is not evicted before as many calls of `leave`. */
    async enter(organizationId: string): Promise<PluginCache> {
      const cache = findOrAdd(organizationId)
      users.set(organizationId, (users.get(organizationId) ?? 0) + 1)
      const { path, gid } = cache
      const stats = statsOf(path)
      if (stats !== undefined && gid !== undefined && stats.gid !== gid) await removeTree(path)
      mkdirSync(path, { recursive: true, mode: 0o700 })
      if (gid !== undefined) {
        chownSync(path, 0, gid)
        // New directories below inherit the group.
        chmodSync(path, 0o2770)
      }
      return cache
    },
    leave(organizationId: string) {
      const count = (users.get(organizationId) ?? 1) - 1
      if (count > 0) return void users.set(organizationId, count)
      users.delete(organizationId)
      const cache = caches.get(organizationId)
      if (cache !== undefined) discardIncomplete(cache)
    },
  }
}

export type PluginCaches = Awaited<ReturnType<typeof openPluginCaches>>

/** Marks a cache as incomplete during an init, and after it if the init was killed. */
export async function markIncompleteDuring({ path }: Pick<PluginCache, 'path'>, init: () => Promise<ExitCode>) {
  const mark = `${path}${INCOMPLETE}${(inits += 1)}`
  await writeFile(mark, '')
  const code = await init()
  if (code !== null) await rm(mark, { force: true })
  return code
}

function isOrganization(name: string): boolean {
  return /^[\w-]{1,100}$/.test(name)
}

/** Exit code of an engine; null when the agent killed it. */
type ExitCode = number | null

const MAX_INSTALLED = 10_000

/** Serialises inits that fill the plugin cache, which engines do not lock. An init whose providers are installed only reads, and runs at once. */
type InitGate = ReturnType<typeof createInitGate>

export function createInitGate() {
  const installed = new Set<string>()
  let last: Promise<void> = Promise.resolve()

  return {
    /** `providers` identifies what `init` installs; it learns whether it runs exclusively. Rejects when the signal aborts the wait. */
    async pass(providers: string, signal: AbortSignal, init: (alone: boolean) => Promise<ExitCode>): Promise<ExitCode> {
      if (installed.has(providers)) return init(false)
      const previous = last
      const turn = Promise.withResolvers<void>()
      last = turn.promise
      try {
        await untilAborted(previous, signal)
        signal.throwIfAborted()
        const code = await init(true)
        if (installed.size >= MAX_INSTALLED) installed.clear()
        if (code === 0) installed.add(providers)
        return code
      } finally {
        void previous.then(turn.resolve)
      }
    },
  }
}
