import ipaddr from 'ipaddr.js'
import type { Actor } from '../auth/actor.ts'
import type { Config } from '../config.ts'

/** `remaining` more requests are allowed immediately; the next one after that in `waitMs`. */
export type Allowance = { allowed: boolean; remaining: number; waitMs: number }
export type RateLimiter = { limit: number; take: (key: string, nowMs: number) => Allowance }

/** Maximum number of requests per second for one caller; 0 for no limit. */
export function rateLimit(config: Pick<Config, 'rateLimit' | 'edition'>) {
  return config.rateLimit ?? (config.edition === 'hosted' ? 30 : 0)
}

/**
 * Creates a token bucket for each key, which holds `limit` requests and refills within a second. Buckets are kept in memory, so with N replicas a
 * caller gets up to N times the limit.
 *
 * A bucket is stored as the time at which it is full again, so an unknown key has a full bucket. Two generations of at least a second each allow
 * full buckets to be dropped without a scan. An LRU cache would evict buckets in use, and so reset their limits.
 */
export function createRateLimiter(limit: number): RateLimiter {
  const intervalMs = 1000 / limit
  let current = new Map<string, number>()
  let previous = new Map<string, number>()
  let rotatedAtMs = 0

  function take(key: string, nowMs: number): Allowance {
    if (nowMs - rotatedAtMs >= 1000) {
      previous = nowMs - rotatedAtMs >= 2000 ? new Map() : current
      current = new Map()
      rotatedAtMs = nowMs
    }
    // Limited, so that a clock that was set back does not block callers.
    const usedMs = Math.min(1000, Math.max(0, (current.get(key) ?? previous.get(key) ?? 0) - nowMs))
    const next = usedMs + intervalMs
    const allowed = next <= 1000 + 1e-6
    const used = allowed ? next : usedMs
    current.set(key, nowMs + used)
    const remaining = Math.floor((1000 - used) / intervalMs + 1e-6)
    return { allowed, remaining, waitMs: remaining > 0 ? 0 : used + intervalMs - 1000 }
  }
  return { limit, take }
}

/** The key of a request's bucket: its token or session, otherwise its address. */
export function callerKey(actor: Actor, address: string) {
  if ('tokenId' in actor && actor.tokenId !== undefined) return actor.tokenId
  if (actor.kind === 'user' && actor.sessionId !== undefined) return actor.sessionId
  return `address ${network(address)}`
}

/** An IPv6 address counts as its /64, since one network usually has all addresses of a /64. */
function network(address: string) {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
