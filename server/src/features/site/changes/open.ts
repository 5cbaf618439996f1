import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { notFound, tooManyRequests, unavailable } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { addStream, streamHubOf, wakeStreams } from './stream-hub.ts'
import {
  type ChangeStream,
  type StreamActor,
  type Watched,
  addPending,
  endStream,
  newStream,
  resetStream,
  sendEvent,
} from './stream.ts'

/** Maximum number of streams of a process, and in it of an organization, a user, and a session or token. */
const MAX_STREAMS = 500
const MAX_PER_ORGANIZATION = 250
const MAX_PER_USER = 40
const MAX_PER_CREDENTIAL = 20
const RETRY_MS = 5000

/** `after` is the client's cursor; `closing` aborts when the server closes. */
type OpenInput = { after: string | undefined; closing: AbortSignal }

/** Opens a stream, resumed without gaps or with a reset. Throws `too-many-requests` and `unavailable` beyond the limits. */
export function openChanges(ctx: Ctx, watched: Watched, { after, closing }: OpenInput): Readable {
  const hub = streamHubOf(ctx)
  checkLimits([...hub.streams], watched)
  const stream = newStream(watched, () => wakeStreams(hub))
  // No `await` until the stream is added: changes after the reading of the cursor must reach it.
  // The cursor of a resuming client advances with the changes that are sent.
  sendEvent(stream, 'ready', after ?? ctx.changes.cursor())
  if (after !== undefined) resume(ctx, stream, after)
  addStream(hub, stream)
  // Clients reconnect to another replica, or when the server is back.
  const end = () => endStream(stream)
  if (closing.aborted) end()
  closing.addEventListener('abort', end, { once: true })
  stream.readable.once('close', () => closing.removeEventListener('abort', end))
  return stream.readable
}

function resume({ changes }: Ctx, stream: ChangeStream, after: string) {
  const missed = changes.since(after, stream.organizationId)
  if (missed) for (const change of missed) addPending(stream, change)
  else resetStream(stream)
}

function checkLimits(streams: readonly ChangeStream[], { actor, organizationId }: Watched) {
  const count = (isCounted: (stream: ChangeStream) => boolean) => streams.filter(isCounted).length
  const credential = credentialOf(actor)
  if (count((stream) => credentialOf(stream.actor) === credential) >= MAX_PER_CREDENTIAL)
    throw tooMany('session or token', MAX_PER_CREDENTIAL)
  // A user can have any number of tokens.
  const user = userOf(actor)
  if (user !== undefined && count((stream) => userOf(stream.actor) === user) >= MAX_PER_USER)
    throw tooMany('user', MAX_PER_USER)
  if (count((stream) => stream.organizationId === organizationId) >= MAX_PER_ORGANIZATION)
    throw full('organization', MAX_PER_ORGANIZATION)
  if (streams.length >= MAX_STREAMS) throw full('server', MAX_STREAMS)
}

function tooMany(owner: string, limit: number) {
  const detail = `this ${owner} has ${limit} streams of changes open, which is the limit: close some first`
  return tooManyRequests(detail, RETRY_MS)
}

function full(owner: string, limit: number) {
  const detail = `this ${owner} has ${limit} streams of changes open, which is its limit: try again later`
  return unavailable(detail, RETRY_MS)
}

function credentialOf(actor: StreamActor) {
  return actor.tokenId ?? (actor.kind === 'user' ? actor.sessionId : undefined)
}

function userOf(actor: StreamActor) {
  return actor.kind === 'user' ? actor.userId : undefined
}

/** The organization, for users, teams and organization tokens. Throws `not-found` for other actors. */
export async function requireWatchedOrganization(ctx: Ctx, name: string): Promise<Watched> {
  const { id } = await requireOrganization(ctx, name, 'organization:read')
  const { actor } = ctx
  if (actor.kind !== 'user' && actor.kind !== 'organization') throw notFound('organization')
  return { actor, organizationId: id }
}
