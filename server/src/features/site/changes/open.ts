import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { notFound, tooManyRequests, unavailable } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { addStream, streamHubOf, wakeStreams } from './stream-hub.ts'
import {
  type ChangeStream,
  type StreamActor,
  addPending,
  resetStream,
  endStream,
  newStream,
  sendSign,
} from './stream.ts'

/** The most streams of one process, and in it of one organization, of one user, and of one session or token. */
const MAX_STREAMS = 500
const MAX_PER_ORGANIZATION = 250
const MAX_PER_USER = 40
const MAX_PER_CREDENTIAL = 20
const RETRY_MS = 5000

type Watched = Pick<ChangeStream, 'actor' | 'organizationId'>
/** `after` is the cursor that the client has; `closing` aborts when the server closes. */
type OpenInput = { after: string | undefined; closing: AbortSignal }

/**
 * Opens the stream of what changes in an organization and the caller may read. It goes on after the cursor, without a miss, or
 * resets the client. Throws `too-many-requests` and `unavailable` beyond the limits.
 */
export function openChanges(ctx: Ctx, watched: Watched, { after, closing }: OpenInput): Readable {
  const hub = streamHubOf(ctx)
  checkLimits([...hub.streams], watched)
  const stream = newStream(watched, () => wakeStreams(hub))
  // Nothing is awaited here: what changes after the cursor is read reaches the stream.
  // The cursor of a resuming client moves with the changes it is sent.
  sendSign(stream, 'ready', after ?? ctx.changes.cursor())
  if (after !== undefined) resume(ctx, stream, after)
  addStream(hub, stream)
  endOn(closing, stream)
  return stream.readable
}

function resume({ changes }: Ctx, stream: ChangeStream, after: string) {
  const missed = changes.since(after, stream.organizationId)
  if (missed) for (const change of missed) addPending(stream, change)
  else resetStream(stream)
}

function checkLimits(streams: readonly ChangeStream[], { actor, organizationId }: Watched) {
  const key = keyOf(actor)
  if (count(streams, (stream) => keyOf(stream.actor) === key) >= MAX_PER_CREDENTIAL)
    throw tooMany('session or token', MAX_PER_CREDENTIAL)
  // A user can have any number of tokens.
  const user = userOf(actor)
  if (user !== undefined && count(streams, (stream) => userOf(stream.actor) === user) >= MAX_PER_USER) {
    throw tooMany('user', MAX_PER_USER)
  }
  if (count(streams, (stream) => stream.organizationId === organizationId) >= MAX_PER_ORGANIZATION) {
    throw full('organization', MAX_PER_ORGANIZATION)
  }
  if (streams.length >= MAX_STREAMS) throw full('server', MAX_STREAMS)
}

function count(streams: readonly ChangeStream[], isCounted: (stream: ChangeStream) => boolean) {
  return streams.filter(isCounted).length
}

function tooMany(whose: string, most: number) {
  return tooManyRequests(
    `this ${whose} has ${most} streams of changes open, which is the limit: close some first`,
    RETRY_MS,
  )
}

function full(whose: string, most: number) {
  return unavailable(`this ${whose} has ${most} streams of changes open, which is its limit: try again later`, RETRY_MS)
}

function keyOf(actor: StreamActor) {
  return actor.tokenId ?? (actor.kind === 'user' ? actor.sessionId : undefined)
}

function userOf(actor: StreamActor) {
  return actor.kind === 'user' ? actor.userId : undefined
}

/** A server that closes ends its streams; their clients go on at another one, or when it is back. */
function endOn(closing: AbortSignal, stream: ChangeStream) {
  const end = () => endStream(stream)
  if (closing.aborted) return end()
  closing.addEventListener('abort', end, { once: true })
  stream.readable.once('close', () => closing.removeEventListener('abort', end))
  return undefined
}

/** The organization, for actors that may watch it: users, teams and organization tokens. Throws `not-found` for all others. */
export async function requireWatchedOrganization(
  ctx: Ctx,
  name: string,
): Promise<Pick<ChangeStream, 'actor' | 'organizationId'>> {
  const { id } = await requireOrganization(ctx, name, 'organization:read')
  const { actor } = ctx
  if (actor.kind !== 'user' && actor.kind !== 'organization') throw notFound('organization')
  return { actor, organizationId: id }
}
