import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { factsOf } from '../process/confined-file.ts'
import type { createIdPool } from './run-users.ts'

/** Runs of an organization share its providers; the members of its group may write them. */
export type PluginCache = { organizationId: string; path: string; gid: number | undefined; initGate: InitGate }

/** Beside the directory, one for each init that may be writing there: what it left is not known to be whole. */
const FILLING = '.filling-'
let inits = 0

/**
 * The plugin caches of an agent, one for each organization. `groups` holds their group ids when runs have users of their own.
 * A cache goes when it belongs to an id of another agent, or when its group is needed and no run has it.
 */
export async function openPluginCaches(workDir: string, groups: ReturnType<typeof createIdPool> | undefined) {
  const parent = join(workDir, 'plugins')
  await mkdir(parent, { recursive: true })
  await chmod(parent, groups === undefined ? 0o700 : 0o711)
  const caches = new Map<string, PluginCache>()
  const users = new Map<string, number>()
  let emptied = 0

  const names = await readdir(parent)
  for (const name of names) {
    const path = join(parent, name)
    const { gid } = await stat(path)
    const known = isOrganization(name) && !names.some((other) => other.startsWith(`${name}${FILLING}`))
    if (known && (groups === undefined ? gid === process.getegid?.() : groups.reserve(gid))) add(name, gid)
    else await rm(path, { recursive: true, force: true })
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
      // It is open to the group, which another organization gets.
      rmSync(idle.path, { recursive: true, force: true })
      groups.free(idle.gid)
      return groups.take()
    }
  }

  /** Nothing awaits between the look and the entry, so that two runs get the same one. */
  function find(organizationId: string): PluginCache {
    if (!isOrganization(organizationId)) throw new Error(`"${organizationId}" is no id of an organization`)
    const cache = caches.get(organizationId) ?? add(organizationId, takeGroup())
    // The last one used is the last one to go.
    caches.delete(organizationId)
    caches.set(organizationId, cache)
    return cache
  }

  /** The marks of the inits that were killed, once no run uses the cache. */
  function marksOf({ organizationId }: PluginCache) {
    const marks = readdirSync(parent).filter((name) => name.startsWith(`${organizationId}${FILLING}`))
    return marks.map((name) => join(parent, name))
  }

  /** Discards the providers of a killed init, which may be truncated. Replaces the cache without awaiting. */
  function empty({ organizationId, path, gid }: PluginCache, marks: readonly string[]) {
    const broken = `${path}.broken-${process.pid}-${(emptied += 1)}`
    renameSync(path, broken)
    for (const mark of marks) rmSync(mark)
    caches.set(organizationId, { organizationId, path, gid, initGate: createInitGate() })
    rm(broken, { recursive: true, force: true }).catch(() => {})
  }

  return {
    /** Whether there is a cache of the organization: an earlier agent has left it, or a run has entered it. */
    has: (organizationId: string) => caches.has(organizationId),
    /** The cache of an organization, which stays until as many calls of `leave`. */
    async enter(organizationId: string): Promise<PluginCache> {
      const cache = find(organizationId)
      users.set(organizationId, (users.get(organizationId) ?? 0) + 1)
      const { path, gid } = cache
      const facts = factsOf(path)
      if (facts !== undefined && gid !== undefined && facts.gid !== gid)
        await rm(path, { recursive: true, force: true })
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
      const marks = cache === undefined ? [] : marksOf(cache)
      if (cache !== undefined && marks.length > 0) empty(cache, marks)
    },
  }
}

export type PluginCaches = Awaited<ReturnType<typeof openPluginCaches>>

/** Marks a cache as half written for the time of an init, and beyond one that did not come to its end. */
export async function whileFilling({ path }: Pick<PluginCache, 'path'>, init: () => Promise<number | null>) {
  const mark = `${path}${FILLING}${(inits += 1)}`
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

/** The memory of what is installed is dropped beyond this many workspaces. */
const REMEMBERED = 10_000

/**
 * Lets one `init` at a time fill the shared plugin cache, which engines do not lock against each other: two that install the
 * same provider would write the same files. One whose providers this agent has installed before only reads, and goes at once.
 */
type InitGate = ReturnType<typeof createInitGate>

export function createInitGate() {
  const installed = new Set<string>()
  let last: Promise<void> = Promise.resolve()

  return {
    /**
     * Runs `init` when it may, and returns its exit code; `providers` names what it will install, and `init` hears whether it is
     * alone with that. Rejects when the signal aborts while it waits.
     */
    async pass(providers: string, signal: AbortSignal, init: (alone: boolean) => Promise<ExitCode>): Promise<ExitCode> {
      if (installed.has(providers)) return init(false)
      const previous = last
      const turn = Promise.withResolvers<void>()
      last = turn.promise
      try {
        await waitFor(previous, signal)
        const code = await init(true)
        if (installed.size >= REMEMBERED) installed.clear()
        if (code === 0) installed.add(providers)
        return code
      } finally {
        void previous.then(turn.resolve)
      }
    },
  }
}

async function waitFor(previous: Promise<void>, signal: AbortSignal) {
  signal.throwIfAborted()
  const done = new AbortController()
  try {
    await Promise.race([previous, once(signal, 'abort', { signal: done.signal })])
  } finally {
    done.abort()
  }
  signal.throwIfAborted()
}
