import type { QueryKey } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import { ApiError, errorOf } from '../api/client.ts'
import type { Choice } from './picker.tsx'

/** A field of the dialog of an action; its value is passed to `act` under its name. */
export type BulkField = { name: string; label: string; hint?: string } & (
  | { kind: 'text'; maxLength?: number; problem?: (value: string) => string | undefined }
  | { kind: 'radio'; options: readonly { value: string; text: string; about?: string }[] }
  | {
      kind: 'pick'
      about: QueryKey
      problem: (value: string) => string | undefined
      load: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>
    }
)
type BulkValues = Readonly<Record<string, string>>

/** An action on several items of a list, with an independent request for each. */
export type BulkAction<Item> = {
  label: string
  icon: LucideIcon
  about: string
  /** Past participle for messages: "locked". */
  done: string
  isDestructive?: boolean
  fields?: readonly BulkField[]
  /** Query parameters that limit a list to items to which it may apply, so that not all of them are read. */
  candidates?: Readonly<Record<string, string>>
  /** Why it does not apply to an item, as far as the page knows: "already locked". */
  obstacle: (item: Item) => string | undefined
  act: (item: Item, values: BulkValues) => Promise<unknown>
}

export type BulkOutcome<Item> = { item: Item; failure: string | undefined }

const CONCURRENCY = 4
const MAX_ATTEMPTS = 6
/** The rate limiter of the server refills within a second. */
const RATE_LIMIT_PAUSE_MS = 1000

/** Acts on the items, a few concurrently, and reports each outcome. An abort only prevents further requests. */
export async function actOnEach<Item>(
  act: (item: Item) => Promise<unknown>,
  { items, signal }: { items: readonly Item[]; signal: AbortSignal },
  onOutcome: (outcome: BulkOutcome<Item>) => void,
) {
  // Shared by the workers: an array's iterator is not closed by a loop that ends early.
  const waiting = items.values()
  async function work() {
    for (const item of waiting) {
      if (signal.aborted) return
      onOutcome({ item, failure: await failureOf(item, 1) })
    }
  }
  async function failureOf(item: Item, attempt: number): Promise<string | undefined> {
    try {
      await act(item)
      return undefined
    } catch (error) {
      if (error instanceof ApiError && error.status === 429 && attempt < MAX_ATTEMPTS) {
        await new Promise((resolve) => void setTimeout(resolve, RATE_LIMIT_PAUSE_MS))
        return failureOf(item, attempt + 1)
      }
      return errorOf(error).message
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

export type BulkPage<Item> = { rows: readonly Item[]; hasMore: boolean }

/** Reads all pages of a list. Items that move to another page meanwhile are returned once. */
export async function readAll<Item extends { id: string }>(
  readPage: (page: number, signal: AbortSignal) => Promise<BulkPage<Item>>,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (count: number) => void },
): Promise<Item[]> {
  const items = new Map<string, Item>()
  for (let page = 1; ; page += 1) {
    const { rows, hasMore } = await readPage(page, signal)
    for (const row of rows) items.set(row.id, row)
    onProgress(items.size)
    if (!hasMore) return [...items.values()]
  }
}

/** Why an action applies to none of the items; undefined if it applies to some. */
export function obstacleOfAll<Item>({ obstacle }: Pick<BulkAction<Item>, 'obstacle'>, items: readonly Item[]) {
  const obstacles = items.map(obstacle)
  if (obstacles.includes(undefined)) return undefined
  return items.length === 1 ? obstacles[0] : `not possible for any: ${[...new Set(obstacles)].join('; ')}`
}
