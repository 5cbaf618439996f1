import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { notFound, tooManyRequests, unavailable } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { findTokenHolder } from './store.ts'
import { addStream, streamHubOf, wakeStreams } from './stream-hub.ts'
import { type ChangeStream, type Watched, addPending, endStream, newStream, resetStream, sendEvent } from './stream.ts'

/** Maximum number of streams of a process. */
const MAX_STREAMS = 500
/** Number of streams above which only callers with few get another one. */
const RESERVED_FROM = 400
const RETRY_MS = 5000

/** Maximum number of streams with the same key, and above `RESERVED_FROM`. */
type Limit = { noun: string; keyOf: (watched: Watched) => string | undefined; max: number; maxReserved: number }

const LIMITS: readonly Limit[] = [
  { noun: 'session or token', keyOf: credentialOf, max: 20, maxReserved: 4 },
  { noun: 'user', keyOf: ({ personId }) => personId, max: 40, maxReserved: 4 },
  { noun: 'organization', keyOf: ({ organizationId }) => organizationId, max: 250, maxReserved: 50 },
]

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

function checkLimits(streams: readonly ChangeStream[], watched: Watched) {
  if (streams.length >= MAX_STREAMS)
    throw unavailable(`this server has ${MAX_STREAMS} streams of changes open, which is its limit`, RETRY_MS)
  const isReserved = streams.length >= RESERVED_FROM
  for (const { noun, keyOf, max, maxReserved } of LIMITS) {
    const key = keyOf(watched)
    const count = streams.filter((stream) => keyOf(stream) === key).length
    if (count < (isReserved ? maxReserved : max)) continue
    const limit = isReserved ? `the limit while the server has ${RESERVED_FROM}` : 'the limit'
    throw tooManyRequests(
      `this ${noun} has ${count} streams of changes open, which is ${limit}: close some first`,
      RETRY_MS,
    )
  }
}

function credentialOf({ actor }: Watched) {
  return actor.tokenId ?? (actor.kind === 'user' ? actor.sessionId : undefined)
}

/** The organization, for users, teams and organization tokens. Throws `not-found` for other actors. */
export async function requireWatchedOrganization(ctx: Ctx, name: string): Promise<Watched> {
  const { id } = await requireOrganization(ctx, name, 'organization:read')
  const { actor } = ctx
  if (actor.kind !== 'user' && actor.kind !== 'organization') throw notFound('organization')
  const isPerson = actor.kind === 'user' && actor.teamId === undefined
  const personId = isPerson ? actor.userId : await findTokenHolder(ctx.db, actor.tokenId ?? '')
  return { actor, organizationId: id, personId: personId ?? id }
}
