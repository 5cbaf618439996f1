import { createHmac, randomBytes } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentLog } from './log.ts'

export type WarmLimits = {
  /** Entries, and bytes of all of them. */
  count: number
  bytes: number
  /** How long one is kept that nobody takes, in ms. */
  ageMs: number
}

const DEFAULT_LIMITS: WarmLimits = { count: 500, bytes: 1024 ** 3, ageMs: 24 * 3_600_000 }

/** What is used again and again is made anew after this long, in ms: nothing that has changed elsewhere stays unseen for ever. */
const LONGEST_MS = 7 * 24 * 3_600_000

/** `scope` names the entries that go together. */
type Entry = { folder: string; bytes: number; madeAt: number; usedAt: number; scope: string }

/**
 * What an agent keeps of its runs so that later ones need not do it again: unpacked configurations, and what an init has left.
 * Entries are folders that the agent alone may enter; runs get copies. They hold nothing that could not be had again: whatever
 * goes wrong with one, it is dropped, and the run goes on without it.
 *
 * They go when the agent starts: so none was cut off half way, and the key under which their names are made stays in
 * memory. What is large, the providers, is in the plugin cache, which stays.
 */
export type WarmFolders = ReturnType<typeof createWarmFolders>

/** Undefined when there are to be none. */
export async function openWarmFolders(
  workDir: string,
  log: AgentLog,
  limits: WarmLimits | false = DEFAULT_LIMITS,
): Promise<WarmFolders | undefined> {
  const parent = join(workDir, 'warm')
  await rm(parent, { recursive: true, force: true })
  if (limits === false) return undefined
  await mkdir(parent, { mode: 0o700 })
  return createWarmFolders(parent, log, limits)
}

function createWarmFolders(parent: string, log: AgentLog, limits: WarmLimits) {
  const secret = randomBytes(32)
  /** The one that was used last stands last. */
  const entries = new Map<string, Entry>()
  const filling = new Set<string>()
  let bytes = 0
  let folders = 0

  async function drop(key: string) {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    bytes -= entry.bytes
    await rm(entry.folder, { recursive: true, force: true })
  }

  async function sweep() {
    const oldest = Date.now() - limits.ageMs
    for (const [key, { usedAt }] of entries) {
      if (entries.size <= limits.count && bytes <= limits.bytes && usedAt >= oldest) return
      await drop(key)
    }
  }

  return {
    sweep,
    drop,
    /** A name for what these facts decide. They may be secret, and can't be guessed from it. */
    key: (...facts: readonly unknown[]) => createHmac('sha256', secret).update(JSON.stringify(facts)).digest('hex'),

    /** Whether there was an entry and `use` could make something of it; `use` cleans up after itself. An entry of no use goes. */
    async take(key: string, use: (folder: string) => Promise<void>): Promise<boolean> {
      const entry = entries.get(key)
      if (entry === undefined) return false
      if (Date.now() - entry.madeAt > LONGEST_MS) {
        await drop(key)
        return false
      }
      entries.delete(key)
      entries.set(key, { ...entry, usedAt: Date.now() })
      try {
        await use(entry.folder)
        return true
      } catch (error) {
        // Another entry may have taken its place meanwhile.
        if (entries.get(key)?.folder === entry.folder) await drop(key)
        log.debug({ error }, 'a warm folder is of no use any more')
        return false
      }
    },

    /** Makes an entry of what `fill` writes into a folder, which answers its size in bytes. An entry that can't be made is left out. */
    async put(key: string, scope: string, fill: (folder: string) => Promise<number>): Promise<void> {
      if (filling.has(key)) return
      filling.add(key)
      folders += 1
      const folder = join(parent, String(folders))
      const draft = `${folder}.draft`
      try {
        await mkdir(draft, { mode: 0o700 })
        const size = await fill(draft)
        await rename(draft, folder)
        await drop(key)
        entries.set(key, { folder, bytes: size, madeAt: Date.now(), usedAt: Date.now(), scope })
        bytes += size
        await sweep()
      } catch (error) {
        await rm(draft, { recursive: true, force: true })
        log.debug({ error }, 'no warm folder is kept')
      } finally {
        filling.delete(key)
      }
    },

    async dropScope(scope: string): Promise<void> {
      for (const [key, entry] of entries) if (entry.scope === scope) await drop(key)
    },
  }
}
