import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Ctx } from '../../../app.ts'
import { tooManyRequests } from '../../../errors.ts'
import * as store from './store.ts'

/** How many wrong passwords or codes are taken within `windowMs`, for one account and from one address. */
export const ATTEMPT_LIMITS = { account: 10, address: 100, windowMs: 15 * 60_000 }

/**
 * Counts a sign-in attempt before it is looked at, so that attempts side by side can't slip under the limit, and hashing
 * passwords can't be made to take all of the machine. `account` is a user's id, or the text that no account was found for.
 * The counters are in the database: every replica sees the same ones. Throws `too-many-requests` above a limit.
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

/** After a success: the account starts afresh, and the address, which others may share, gets this attempt back. */
export async function forgiveAttempt(ctx: Ctx, account: string) {
  const [forAccount, forAddress] = counters(ctx, account)
  await store.deleteAttempts(ctx.db, forAccount.key)
  if (forAddress) await store.uncountAttempt(ctx.db, forAddress.key)
}

type Counter = { key: string; limit: number }

function counters(ctx: Ctx, account: string): [Counter, ...Counter[]] {
  // Someone may have typed a password into the field of the name: what is kept of it is a hash.
  const digest = createHash('sha256').update(account.toLowerCase()).digest('hex')
  const forAccount = { key: `account:${digest}`, limit: ATTEMPT_LIMITS.account }
  if (ctx.request === undefined) return [forAccount]
  return [forAccount, { key: `address:${network(ctx.request.address)}`, limit: ATTEMPT_LIMITS.address }]
}

/** An IPv6 address is counted by its /64: whoever has one of those addresses has all of them. */
function network(address: string) {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
