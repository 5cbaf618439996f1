import ipaddr from 'ipaddr.js'
import type { Actor } from '../auth/actor.ts'
import type { Config } from '../config.ts'

/** `remaining` more requests may follow at once; the next one after that in `waitMs`. */
export type Allowance = { allowed: boolean; remaining: number; waitMs: number }
export type RateLimiter = { limit: number; take: (key: string, nowMs: number) => Allowance }

/** The maximum of requests a second for one caller; 0 is no limit. */
export function rateLimit(config: Pick<Config, 'rateLimit' | 'edition'>) {
  return config.rateLimit ?? (config.edition === 'hosted' ? 30 : 0)
}

/**
 * A token bucket for each key: it holds `limit` requests and refills within a second. Buckets live in the memory of the
 * process. With N replicas, a caller whose requests are spread evenly gets up to N times the limit; in exchange,
 * requests share no state.
 *
 * A bucket is stored as the time at which it is full again, so an unknown key has a full bucket. Two generations of at
 * least a second each let full buckets be dropped without a scan. A cache of limited size would drop buckets in use
 * when enough other callers come, and so reset their limits.
 */
export function createRateLimiter(limit: number): RateLimiter {
  const intervalMs = 1000 / limit
  let current = new Map<string, number>()
  let previous = new Map<string, number>()
  let turnedAt = 0

  function take(key: string, nowMs: number): Allowance {
    if (nowMs - turnedAt >= 1000) {
      previous = nowMs - turnedAt >= 2000 ? new Map() : current
      current = new Map()
      turnedAt = nowMs
    }
    // At most empty: a clock that was set back must not lock anyone out.
    const emptiness = Math.min(1000, Math.max(0, (current.get(key) ?? previous.get(key) ?? 0) - nowMs))
    const next = emptiness + intervalMs
    const allowed = next <= 1000 + 1e-6
    const used = allowed ? next : emptiness
    current.set(key, nowMs + used)
    const remaining = Math.floor((1000 - used) / intervalMs + 1e-6)
    return { allowed, remaining, waitMs: remaining > 0 ? 0 : used + intervalMs - 1000 }
  }
  return { limit, take }
}

/** The key of the bucket for a request: its token or session, else its address. */
export function callerKey(actor: Actor, address: string) {
  if ('tokenId' in actor && actor.tokenId !== undefined) return actor.tokenId
  if (actor.kind === 'user' && actor.sessionId !== undefined) return actor.sessionId
  return `address ${network(address)}`
}

/** An IPv6 address counts as its /64, since a network usually holds all addresses of a /64. */
function network(address: string) {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
