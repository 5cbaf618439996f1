import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Ctx } from '../../../app.ts'
import { tooManyRequests } from '../../../errors.ts'
import * as store from './store.ts'

/** Failed attempts allowed within `windowMs`. `pair` is an account from one address: attempts from elsewhere cannot lock its user out. */
export const ATTEMPT_LIMITS = { pair: 10, account: 100, address: 100, codes: 10, mails: 5, windowMs: 15 * 60_000 }

/** Period for which an address with a successful sign-in is a known address of the user. */
export const KNOWN_ADDRESS_TTL_MS = 30 * 24 * 60 * 60_000

/** Prefixes in units of 16 bits: a client usually has a whole /64 of IPv6 addresses, and can obtain several from its /48. */
const CLIENT_PARTS = 4
const SITE_PARTS = 3

type Counter = { key: string; limit: number }

export type CountedAttempt = { place?: string; pair?: Counter; shared: readonly Counter[] }

/**
 * Counts a sign-in attempt before the password is verified, so that concurrent attempts cannot exceed the limit or saturate the
 * CPU with password hashing. `account` is the id of a user, or an unknown login. From a known address only the pair is counted.
 * The counters are in the database, shared by all replicas. Throws `too-many-requests` above a limit.
 */
export async function countAttempt(ctx: Ctx, account: string): Promise<CountedAttempt> {
  const digest = digestOf(account)
  const everywhere = { key: `everywhere:${digest}`, limit: ATTEMPT_LIMITS.account }
  if (ctx.request === undefined) {
    await count(ctx, [everywhere])
    return { shared: [everywhere] }
  }

  const place = network(ctx.request.address, CLIENT_PARTS)
  const pair = { key: pairKey(digest, place), limit: ATTEMPT_LIMITS.pair }
  const since = new Date(ctx.now().getTime() - KNOWN_ADDRESS_TTL_MS)
  if (await store.findSignInPlace(ctx.db, { userId: account, place, since })) {
    await count(ctx, [pair])
    return { place, pair, shared: [] }
  }

  const shared = [everywhere, await usableAddress(ctx, ctx.request.address)]
  await count(ctx, [pair, ...shared])
  return { place, pair, shared }
}

/** After a success, the address is known. Shared counters only go down by one, since others may have contributed. */
export async function resetAttempts(ctx: Ctx, userId: string, { place, pair, shared }: CountedAttempt) {
  if (pair) await store.deleteAttempts(ctx.db, pair.key)
  for (const { key } of shared) await store.uncountAttempt(ctx.db, key)
  if (place !== undefined) await store.recordSignInPlace(ctx.db, { user_id: userId, place, last_at: ctx.now() })
}

/** Counts an unknown one-time link like a wrong password of the address. Throws `too-many-requests`. */
export async function countUnknownLink(ctx: Ctx) {
  if (ctx.request) await count(ctx, [addressCounter(ctx.request.address)])
}

/** Counts a request to reset the password of a login, whether or not it exists. Throws `too-many-requests`. */
export async function countResetRequest(ctx: Ctx, login: string) {
  const counters = [{ key: `reset:${digestOf(login)}`, limit: ATTEMPT_LIMITS.mails }]
  if (ctx.request) counters.push(await usableAddress(ctx, ctx.request.address))
  await count(ctx, counters)
}

/** Counts an invitation that is to be mailed; false above the limit. */
export async function mayMailInvitation(ctx: Ctx, email: string) {
  const attempt = { key: `invitation:${digestOf(email)}`, now: ctx.now(), windowMs: ATTEMPT_LIMITS.windowMs }
  return (await store.countAttempt(ctx.db, attempt)).count <= ATTEMPT_LIMITS.mails
}

/** After a new password: guesses of the previous one must not block the user. */
export async function forgetAttempts(ctx: Ctx, userId: string) {
  const digest = digestOf(userId)
  await store.deleteAttempts(ctx.db, `everywhere:${digest}`)
  if (ctx.request) await store.deleteAttempts(ctx.db, pairKey(digest, network(ctx.request.address, CLIENT_PARTS)))
}

/** The counter of an address. Throws if it is exhausted: the address must not add a row for each name that it tries. */
async function usableAddress(ctx: Ctx, address: string) {
  const counter = addressCounter(address)
  const used = await store.findAttempts(ctx.db, counter.key)
  if (used && used.count >= counter.limit && used.startedAt.getTime() + ATTEMPT_LIMITS.windowMs > ctx.now().getTime())
    throw tooManyAttempts(ctx, used.startedAt)
  return counter
}

function addressCounter(address: string): Counter {
  return { key: `address:${network(address, SITE_PARTS)}`, limit: ATTEMPT_LIMITS.address }
}

function pairKey(digest: string, place: string) {
  return `pair:${digest} ${place}`
}

/** Counts an attempt with a two-factor code, from any address: it follows a correct password. Throws `too-many-requests`. */
export async function countCode(ctx: Ctx, userId: string) {
  await count(ctx, [codes(userId)])
}

export async function uncountCode(ctx: Ctx, userId: string) {
  await store.uncountAttempt(ctx.db, codes(userId).key)
}

function codes(userId: string): Counter {
  return { key: `codes:${userId}`, limit: ATTEMPT_LIMITS.codes }
}

/** The narrowest counter comes first: an attempt that it rejects does not count for others who share the next ones. */
async function count(ctx: Ctx, inOrder: readonly Counter[]) {
  for (const { key, limit } of inOrder) {
    const counted = await store.countAttempt(ctx.db, { key, now: ctx.now(), windowMs: ATTEMPT_LIMITS.windowMs })
    if (counted.count > limit) throw tooManyAttempts(ctx, counted.startedAt)
  }
}

/** Only a hash is stored, since users sometimes type a password into the username field. */
function digestOf(account: string) {
  return createHash('sha256').update(account.toLowerCase()).digest('hex')
}

function tooManyAttempts(ctx: Ctx, startedAt: Date) {
  const retryAfterMs = startedAt.getTime() + ATTEMPT_LIMITS.windowMs - ctx.now().getTime()
  const minutes = Math.max(1, Math.ceil(retryAfterMs / 60_000))
  return tooManyRequests(`too many attempts, try again in ${minutes} min`, Math.max(1000, retryAfterMs))
}

/** An IPv4 address, or an IPv6 prefix of `parts` times 16 bits. */
function network(address: string, parts: number) {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, parts).join(':')}::` : parsed.toString()
}
