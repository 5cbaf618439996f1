import type { IdentityKeyState } from '@groundstate/contract/identity-keys'
import type { KeyRow } from './store.ts'

/** Time for which services may cache the published keys, in ms. A key is published at least as long before it signs. */
export const CACHE_MS = 300_000
/** Time between the publication of a new key and its first signature, in ms: several services cache keys for a day, regardless of headers. */
export const LEAD_MS = 24 * 3_600_000
/** Time for which a key stays published after its last token has expired, in ms: for clocks that differ, and for processes that cache it. */
const MARGIN_MS = 600_000

export type IdentityKey = {
  row: KeyRow
  state: IdentityKeyState
  /** From when another key signs; null if none is scheduled. */
  retiresAt: Date | null
  /** Until when it is published. */
  expiresAt: Date | null
}

/** The published keys, the newest first, and those whose tokens have all expired. */
export function identityKeys(rows: readonly KeyRow[], now: Date) {
  const activated = rows.filter(isActivated).toSorted((a, b) => a.activates_at.getTime() - b.activates_at.getTime())
  const current = activated.findLast((row) => row.activates_at <= now)
  const keys = rows.map((row): IdentityKey => {
    const index = activated.findIndex(({ id }) => id === row.id)
    const retiresAt = (index === -1 ? undefined : activated[index + 1]?.activates_at) ?? null
    const expiresAt = retiresAt && new Date(retiresAt.getTime() + row.token_lifetime_ms + MARGIN_MS)
    return { row, state: stateOf(row), retiresAt, expiresAt }
  })

  function stateOf(row: KeyRow): IdentityKeyState {
    if (row.id === current?.id) return 'current'
    return row.activates_at === null || row.activates_at > now ? 'next' : 'previous'
  }

  const isExpired = ({ state, expiresAt }: IdentityKey) =>
    state === 'previous' && expiresAt !== null && expiresAt <= now
  return { published: keys.filter((key) => !isExpired(key)), expired: keys.filter(isExpired) }
}

/** Until when services may have a copy of this server's keys without this one. */
export function cachedUntil(row: KeyRow) {
  return new Date(row.created_at.getTime() + CACHE_MS)
}

function isActivated(row: KeyRow): row is KeyRow & { activates_at: Date } {
  return row.activates_at !== null
}
