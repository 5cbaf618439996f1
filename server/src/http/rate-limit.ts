import ipaddr from 'ipaddr.js'
import type { Actor } from '../auth/actor.ts'
import type { Config } from '../config.ts'

/** `remaining` requests may follow at once, the next one in `waitMs`. */
export type Allowance = { allowed: boolean; remaining: number; waitMs: number }
export type RateLimiter = { limit: number; take: (key: string, nowMs: number) => Allowance }

/** The requests a second that one caller may send; 0 is no limit. */
export function rateLimit(config: Pick<Config, 'rateLimit' | 'edition'>) {
  return config.rateLimit ?? (config.edition === 'hosted' ? 30 : 0)
}

/**
 * A bucket for each key that holds `limit` requests and fills again within a second. Buckets are in the memory of the
 * process: with N replicas a caller whose requests are spread evenly gets up to N times the limit, in exchange for
 * requests that touch no shared state.
 *
 * A bucket is one number, the time at which it is full again, so a key that is not known has a full one. Two generations of
 * a second or more each drop those that are surely full without looking at them. A cache of limited size would forget buckets
 * in use, and so forgive, as soon as enough other callers come.
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
    // Never more than empty: a clock that was set back must not lock anybody out.
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

/** Whose bucket a request is taken from: the token's or the session's, else the address's. */
export function callerKey(actor: Actor, address: string) {
  if ('tokenId' in actor && actor.tokenId !== undefined) return actor.tokenId
  if (actor.kind === 'user' && actor.sessionId !== undefined) return actor.sessionId
  return `address ${network(address)}`
}

/** An IPv6 address counts by its /64: whoever has one of those addresses has all of them. */
function network(address: string) {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
