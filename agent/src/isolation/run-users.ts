import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { usersAtWork } from '../process/user-processes.ts'
import { claimWorkDir } from './work-dir.ts'

/** How many user ids, and as many group ids, an agent has to itself. */
const BLOCK_SIZE = 1_024
const BLOCKS = 64

/** Beyond what distributions, systemd and containers give away; the second for a namespace that maps few ids. */
const FIRST_IDS = [1_900_000_000, 60_578] as const
/** systemd leaves 60578 to 61183 free. */
const SMALL_BLOCK_SIZE = 600

/** Agents of one machine share it to stay out of each other's ids: what runs under an id is killed with its run. */
const REGISTRY = '/run/groundstate/run-users'

export type IdBlock = Disposable & { first: number; size: number }

/** The ids from which a block could be claimed here; a text says why there are none. */
export async function freeIds(firstId: number | undefined): Promise<{ first: number; size: number }[] | string> {
  const maps = await Promise.all(['uid_map', 'gid_map'].map((name) => readFile(`/proc/self/${name}`, 'utf8')))
  const mapped = (first: number, size: number) => maps.every((map) => covers(map, first, size))
  const taken = await takenIds()
  const large = (first: number) =>
    Array.from({ length: BLOCKS }, (_, index) => ({ first: first + index * BLOCK_SIZE, size: BLOCK_SIZE }))
  const candidates =
    firstId === undefined ? [...large(FIRST_IDS[0]), { first: FIRST_IDS[1], size: SMALL_BLOCK_SIZE }] : large(firstId)
  const free = candidates.filter(
    ({ first, size }) => mapped(first, size) && !taken.some((id) => id >= first && id < first + size),
  )
  if (free.length > 0) return free
  return `no ${BLOCK_SIZE} user ids from ${firstId ?? FIRST_IDS[0]} on are free here`
}

/**
 * Claims a block of ids for as long as this process lives. A text says why there is none. The block that the agent had last is
 * the first choice, since the directories that it keeps belong to its ids. A block in which something runs is the last one: that may
 * be an engine whose agent has died, and which stores its state.
 */
export async function claimIds(
  firstId: number | undefined,
  { registry = REGISTRY, last }: { registry?: string; last?: number | undefined } = {},
): Promise<IdBlock | string> {
  const blocks = await freeIds(firstId)
  if (typeof blocks === 'string') return blocks
  const atWork = usersAtWork()
  const isAtWork = ({ first, size }: (typeof blocks)[number]) =>
    atWork.some((uid) => uid >= first && uid < first + size)
  const rank = (block: (typeof blocks)[number]) => (block.first === last ? 0 : isAtWork(block) ? 2 : 1)
  for (const { first, size } of blocks.toSorted((a, b) => rank(a) - rank(b))) {
    const directory = join(registry, String(first))
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      return `${directory} can't be made: ${error instanceof Error ? error.message : String(error)}`
    }
    const claim = await claimWorkDir(directory, new AbortController().signal, 0).catch(() => undefined)
    if (claim !== undefined) return { first, size, [Symbol.dispose]: () => claim[Symbol.dispose]() }
  }
  return 'other agents of this machine have all the user ids'
}

/** Gives ids out of a block, each to one holder at a time; those in `held` have one already. */
export function createIdPool({ first, size }: { first: number; size: number }, held: Iterable<number> = []) {
  const used = new Set(held)
  let next = 0
  return {
    /** Round the block, so that an id rests as long as can be. Throws when all are in use. */
    take(): number {
      for (let step = 0; step < size; step += 1) {
        const id = first + ((next + step) % size)
        if (used.has(id)) continue
        used.add(id)
        next = (id - first + 1) % size
        return id
      }
      throw new Error(`all ${size} ids from ${first} on are in use`)
    },
    /** Whether the id is of this block and was free; it is taken then. */
    reserve(id: number): boolean {
      if (id < first || id >= first + size || used.has(id)) return false
      used.add(id)
      return true
    },
    free: (id: number) => void used.delete(id),
  }
}

/** Whether a uid_map or gid_map of the kernel covers the ids: lines of `inside outside count`. */
function covers(map: string, first: number, size: number): boolean {
  return map.split('\n').some((line) => {
    const [inside = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number)
    return first >= inside && first + size <= inside + count
  })
}

async function takenIds(): Promise<number[]> {
  const files = await Promise.all(['passwd', 'group'].map((name) => readFile(`/etc/${name}`, 'utf8').catch(() => '')))
  return files.flatMap((text) => text.split('\n').map((line) => Number(line.split(':')[2])))
}
