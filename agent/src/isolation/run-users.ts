import { writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../process/errors.ts'
import { activeUsers } from '../process/user-processes.ts'
import { claimWorkDir } from './work-dir.ts'

/** Number of user ids, and of group ids, per agent. */
const BLOCK_SIZE = 1_024
const BLOCKS = 64

/** Above the ranges of distributions, systemd and containers; the second for a namespace that maps few ids. */
const FIRST_IDS = [1_900_000_000, 60_578] as const
/** systemd leaves 60578 to 61183 free. */
const SMALL_BLOCK_SIZE = 600

/** Shared by the agents of a machine, so that their ids differ: processes under an id are killed with its run. */
const REGISTRY = '/run/groundstate/run-users'

/** Maximum number of ids that a start skips, so that only every so many runs write a file. */
const STRIDE = 32

type Ids = { first: number; size: number }
/** `next` is the first id to allocate; `record` stores the one after an allocation. */
type Rotation = { next: number; record: (next: number) => void }
export type IdBlock = Disposable & Ids & Rotation
export type IdPool = ReturnType<typeof createIdPool>

export function isInBlock({ first, size }: Ids, id: number): boolean {
  return id >= first && id < first + size
}

/** The blocks that could be claimed on this machine, or a text if there are none. */
export async function freeIds(firstId: number | undefined): Promise<Ids[] | string> {
  const maps = await Promise.all(['uid_map', 'gid_map'].map((name) => readFile(`/proc/self/${name}`, 'utf8')))
  const taken = await takenIds()
  const large = (first: number) =>
    Array.from({ length: BLOCKS }, (_, index) => ({ first: first + index * BLOCK_SIZE, size: BLOCK_SIZE }))
  const candidates =
    firstId === undefined ? [...large(FIRST_IDS[0]), { first: FIRST_IDS[1], size: SMALL_BLOCK_SIZE }] : large(firstId)
  const free = candidates.filter(
    (block) => maps.every((map) => covers(map, block)) && !taken.some((id) => isInBlock(block, id)),
  )
  return free.length > 0 ? free : `no ${BLOCK_SIZE} user ids from ${firstId ?? FIRST_IDS[0]} on are free here`
}

/**
 * Claims a block of ids, or returns a text if there is none. Prefers the agent's last block, which owns its directories; blocks with
 * processes come last, since they may be engines of a dead agent that are storing their state.
 */
export async function claimIds(
  firstId: number | undefined,
  { registry = REGISTRY, last }: { registry?: string; last?: number | undefined } = {},
): Promise<IdBlock | string> {
  const blocks = await freeIds(firstId)
  if (typeof blocks === 'string') return blocks
  const active = activeUsers()
  const rank = (block: Ids) => {
    if (block.first === last) return 0
    return active.some((uid) => isInBlock(block, uid)) ? 2 : 1
  }
  for (const { first, size } of blocks.toSorted((a, b) => rank(a) - rank(b))) {
    const directory = join(registry, String(first))
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      return `${directory} cannot be created: ${messageOf(error)}`
    }
    const claim = await claimWorkDir(directory, new AbortController().signal, 0).catch(() => undefined)
    if (claim === undefined) continue
    const rotation = await openRotation(join(directory, 'next'), { first, size })
    return { first, size, ...rotation, [Symbol.dispose]: () => claim[Symbol.dispose]() }
  }
  return 'other agents of this machine use all user ids'
}

/** Continues where the last agent with the block has stopped: files of its runs may still exist. */
async function openRotation(file: string, block: Ids): Promise<Rotation> {
  const { first, size } = block
  const after = (id: number, count: number) => first + ((id - first + count) % size)
  const stored = Number(await readFile(file, 'utf8').catch(() => 'NaN'))
  const next = isInBlock(block, stored) ? stored : first
  let end = next
  return {
    next,
    record(id) {
      const ahead = (end - id + size) % size
      if (ahead > 0 && ahead <= STRIDE) return
      end = after(id, STRIDE)
      writeFileSync(file, String(end), { mode: 0o600, flush: true })
    },
  }
}

/** Allocates ids of a block; those in `held` are already in use. */
export function createIdPool(block: Ids & Partial<Rotation>, held: Iterable<number> = []) {
  const { first, size, record } = block
  const used = new Set(held)
  let next = (block.next ?? first) - first
  return {
    /** Allocates in rotation, to reuse an id as late as possible. Throws when all are in use. */
    take(): number {
      for (let step = 0; step < size; step += 1) {
        const id = first + ((next + step) % size)
        if (used.has(id)) continue
        used.add(id)
        next = (id - first + 1) % size
        record?.(first + next)
        return id
      }
      throw new Error(`all ${size} ids from ${first} on are in use`)
    },
    reserve(id: number): boolean {
      if (!isInBlock(block, id) || used.has(id)) return false
      used.add(id)
      return true
    },
    free: (id: number) => void used.delete(id),
    isFree: (id: number) => isInBlock(block, id) && !used.has(id),
  }
}

/** Whether a uid_map or gid_map of the kernel covers the ids: lines of `inside outside count`. */
function covers(map: string, { first, size }: Ids): boolean {
  return map.split('\n').some((line) => {
    const [inside = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number)
    return first >= inside && first + size <= inside + count
  })
}

async function takenIds(): Promise<number[]> {
  const files = await Promise.all(['passwd', 'group'].map((name) => readFile(`/etc/${name}`, 'utf8').catch(() => '')))
  return files.flatMap((text) => text.split('\n').map((line) => Number(line.split(':')[2])))
}
