import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Ctx } from '../../../app.ts'
import { tooManyRequests } from '../../../errors.ts'
import * as store from './store.ts'

/**
 * How many failed attempts to sign in are allowed within `windowMs`: for one account from one address, so that nobody is
 * locked out by somebody elsewhere; for one account from all addresses; and from one address for all accounts.
 */
export const ATTEMPT_LIMITS = { pair: 10, account: 100, address: 100, windowMs: 15 * 60_000 }

/**
 * Counts an attempt to sign in before the password is checked, so that concurrent attempts cannot exceed the limit, and
 * hashing passwords cannot occupy the machine. `account` is the id of a user, or the login when no user has it. The
 * counters are in the database, so that all replicas share them. Throws `too-many-requests` above a limit.
 */
export async function countAttempt(ctx: Ctx, account: string) {
  const { forAddress, inOrder } = counters(ctx, account)
  // An address whose attempts are used up adds no row for each name that it thinks of.
  const used = forAddress && (await store.findAttempts(ctx.db, forAddress.key))
  if (used && isOver(ctx, used, forAddress)) throw tooManyAttempts(ctx, used.startedAt)
  for (const counter of inOrder) {
    const { key } = counter
    const counted = await store.countAttempt(ctx.db, { key, now: ctx.now(), windowMs: ATTEMPT_LIMITS.windowMs })
    if (counted.count > counter.limit) throw tooManyAttempts(ctx, counted.startedAt)
  }
}

/**
 * After a success, resets the counter of the account for this address. Others may have caused the rest, so those
 * counters go down by one only.
 */
export async function forgiveAttempt(ctx: Ctx, account: string) {
  const [first, ...shared] = counters(ctx, account).inOrder
  if (first) await store.deleteAttempts(ctx.db, first.key)
  for (const { key } of shared) await store.uncountAttempt(ctx.db, key)
}

type Counter = { key: string; limit: number }

/** The narrowest counter comes first: what it refuses does not count for those who share the others. */
function counters(ctx: Ctx, account: string): { forAddress?: Counter; inOrder: readonly Counter[] } {
  // People sometimes type a password into the field of the name, so only a hash is stored.
  const digest = createHash('sha256').update(account.toLowerCase()).digest('hex')
  const forAccount = { key: `everywhere:${digest}`, limit: ATTEMPT_LIMITS.account }
  if (ctx.request === undefined) return { inOrder: [forAccount] }
  const place = network(ctx.request.address)
  const forPair = { key: `pair:${digest} ${place}`, limit: ATTEMPT_LIMITS.pair }
  const forAddress = { key: `address:${place}`, limit: ATTEMPT_LIMITS.address }
  return { forAddress, inOrder: [forPair, forAccount, forAddress] }
}

function isOver(ctx: Ctx, { count, startedAt }: store.Attempts, { limit }: Counter) {
  return count >= limit && ctx.now().getTime() < startedAt.getTime() + ATTEMPT_LIMITS.windowMs
}

function tooManyAttempts(ctx: Ctx, startedAt: Date) {
  const retryAfterMs = startedAt.getTime() + ATTEMPT_LIMITS.windowMs - ctx.now().getTime()
  const minutes = Math.max(1, Math.ceil(retryAfterMs / 60_000))
  return tooManyRequests(`too many attempts to sign in, try again in ${minutes} min`, Math.max(1000, retryAfterMs))
}

/** IPv6 addresses are counted by their /64, since one client usually has all addresses of one. */
function network(address: string) {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, 4).join(':')}::` : parsed.toString()
}
