import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Ctx } from '../../../app.ts'
import { tooManyRequests } from '../../../errors.ts'
import * as store from './store.ts'

/** How many failed attempts to sign in are allowed within `windowMs`, for one account and from one address. */
export const ATTEMPT_LIMITS = { account: 10, address: 100, windowMs: 15 * 60_000 }

/**
 * Counts an attempt to sign in before the password is checked, so that concurrent attempts cannot exceed the limit, and
 * hashing passwords cannot occupy the machine. `account` is the id of a user, or the login when no user has it. The
 * counters are in the database, so that all replicas share them. Throws `too-many-requests` above a limit.
 */
export async function countAttempt(ctx: Ctx, account: string) {
  for (const { key, limit } of counters(ctx, account)) {
    const { count, startedAt } = await store.countAttempt(ctx.db, {
      key,
      now: ctx.now(),
      windowMs: ATTEMPT_LIMITS.windowMs,
    })
    if (count > limit) {
      const retryAfterMs = startedAt.getTime() + ATTEMPT_LIMITS.windowMs - ctx.now().getTime()
      const minutes = Math.max(1, Math.ceil(retryAfterMs / 60_000))
      throw tooManyRequests(`too many attempts to sign in, try again in ${minutes} min`, Math.max(1000, retryAfterMs))
    }
  }
}

/**
 * After a success, resets the counter of the account. Others may share the address, so its counter goes down by one
 * only.
 */
export async function forgiveAttempt(ctx: Ctx, account: string) {
  const [forAccount, forAddress] = counters(ctx, account)
  await store.deleteAttempts(ctx.db, forAccount.key)
  if (forAddress) await store.uncountAttempt(ctx.db, forAddress.key)
}

type Counter = { key: string; limit: number }

function counters(ctx: Ctx, account: string): [Counter, ...Counter[]] {
  // People sometimes type a password into the field of the name, so only a hash is stored.
  const digest = createHash('sha256').update(account.toLowerCase()).digest('hex')
  const forAccount = { key: `account:${digest}`, limit: ATTEMPT_LIMITS.account }
  if (ctx.request === undefined) return [forAccount]
  return [forAccount, { key: `address:${network(ctx.request.address)}`, limit: ATTEMPT_LIMITS.address }]
}

/** IPv6 addresses are counted by their /64, since one client usually has all addresses of one. */
function network(address: string) {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
