import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { tooManyRequests } from '../../../errors.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import * as store from './store.ts'

/**
 * How many failed attempts to sign in are allowed within `windowMs`: for one account from one address, so that no one is
 * locked out by someone elsewhere; for one account from all addresses; from one address for all accounts; and codes of one
 * account's two-factor authentication.
 */
export const ATTEMPT_LIMITS = { pair: 10, account: 100, address: 100, codes: 10, windowMs: 15 * 60_000 }

/** For how long after a right password an address counts as one of the person's own. */
export const KNOWN_ADDRESS_TTL_MS = 30 * 24 * 60 * 60_000

/** One client usually has all addresses of its IPv6 network, and many of these networks at will. */
const CLIENT_PARTS = 4
const SITE_PARTS = 3

type Counter = { key: string; limit: number }

/** The counters that an attempt incremented, to be decremented if it succeeds. */
export type CountedAttempt = { place?: string; pair?: Counter; shared: readonly Counter[] }

/**
 * Counts an attempt to sign in before the password is checked, so that concurrent attempts cannot exceed the limit, and
 * hashing passwords cannot occupy the machine. `account` is the id of a user, or the login when no user has it. Where the user
 * has signed in lately, only attempts from there count. The counters are in the database, so that all replicas share them.
 * Throws `too-many-requests` above a limit.
 */
export async function countAttempt(ctx: Ctx, account: string): Promise<CountedAttempt> {
  const digest = digestOf(account)
  const everywhere = { key: `everywhere:${digest}`, limit: ATTEMPT_LIMITS.account }
  if (ctx.request === undefined) {
    await count(ctx, [everywhere])
    return { shared: [everywhere] }
  }

  const place = network(ctx.request.address, CLIENT_PARTS)
  const pair = { key: `pair:${digest} ${place}`, limit: ATTEMPT_LIMITS.pair }
  const since = new Date(ctx.now().getTime() - KNOWN_ADDRESS_TTL_MS)
  if (await store.findSignInPlace(ctx.db, { userId: account, place, since })) {
    await count(ctx, [pair])
    return { place, pair, shared: [] }
  }

  const address = { key: `address:${network(ctx.request.address, SITE_PARTS)}`, limit: ATTEMPT_LIMITS.address }
  // An address whose attempts are used up adds no row for each name that it thinks of.
  const used = await store.findAttempts(ctx.db, address.key)
  if (used && isOver(ctx, used, address)) throw tooManyAttempts(ctx, used.startedAt)
  const shared = [everywhere, address]
  await count(ctx, [pair, ...shared])
  return { place, pair, shared }
}

/**
 * After a success, remembers where it was, and resets the counter of the user for this address. Others may have caused the
 * rest, so those counters go down by one only.
 */
export async function forgiveAttempt(ctx: Ctx, userId: string, { place, pair, shared }: CountedAttempt) {
  if (pair) await store.deleteAttempts(ctx.db, pair.key)
  for (const { key } of shared) await store.uncountAttempt(ctx.db, key)
  if (place !== undefined) await store.recordSignInPlace(ctx.db, { user_id: userId, place, last_at: ctx.now() })
}

/**
 * Counts an attempt with a code of two-factor authentication, wherever it comes from: only who knows the password gets this far. Throws
 * `too-many-requests` above the limit.
 */
export async function countCode(ctx: Ctx, userId: string) {
  await count(ctx, [codes(userId)])
}

/** After a right code. Another user may have caused the rest, so the counter goes down by one only. */
export async function forgiveCode(ctx: Ctx, userId: string) {
  await store.uncountAttempt(ctx.db, codes(userId).key)
}

function codes(userId: string): Counter {
  return { key: `codes:${userId}`, limit: ATTEMPT_LIMITS.codes }
}

/** The narrowest counter comes first: what it refuses does not count for those who share the others. */
async function count(ctx: Ctx, inOrder: readonly Counter[]) {
  for (const { key, limit } of inOrder) {
    const counted = await store.countAttempt(ctx.db, { key, now: ctx.now(), windowMs: ATTEMPT_LIMITS.windowMs })
    if (counted.count > limit) throw tooManyAttempts(ctx, counted.startedAt)
  }
}

/** People sometimes type a password into the field of the name, so only a hash is stored. */
function digestOf(account: string) {
  return createHash('sha256').update(account.toLowerCase()).digest('hex')
}

function isOver(ctx: Ctx, attempts: store.Attempts, { limit }: Counter) {
  return attempts.count >= limit && ctx.now().getTime() < attempts.startedAt.getTime() + ATTEMPT_LIMITS.windowMs
}

function tooManyAttempts(ctx: Ctx, startedAt: Date) {
  const retryAfterMs = startedAt.getTime() + ATTEMPT_LIMITS.windowMs - ctx.now().getTime()
  const minutes = Math.max(1, Math.ceil(retryAfterMs / 60_000))
  return tooManyRequests(`too many attempts to sign in, try again in ${minutes} min`, Math.max(1000, retryAfterMs))
}

/** An IPv4 address, or the network of an IPv6 address that its first `parts` of 16 bits make. */
function network(address: string, parts: number) {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, parts).join(':')}::` : parsed.toString()
}

export const sweepSessionsJob = jobKind('sessions.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })
