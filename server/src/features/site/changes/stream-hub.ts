import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { ACCESS_TOPIC } from '../../../changes/announce.ts'
import { loggedError } from '../../../log.ts'
import { deliverChanges, isDue, readRights } from './deliver.ts'
import { type ChangeStream, addPending, resetStream, hasNews, sendSign } from './stream.ts'

/** The time between two deliveries, in ms: what changes meanwhile is sent together, each thing once. */
export const PACE_MS = 150

/** A single change is sent this long after it came, in ms, since it seldom comes alone. */
export const GATHER_MS = 10

export const CHECK_MS = 1000

/** The time between two deliveries while they fail, and at least between two lines that say so, in ms. */
export const WAKE_STREAMS_RETRY_MS = 1000

export const SAY_MS = 10_000

export const ALIVE_MS = 15_000

/** A client that has not read for this long, in ms, is gone. */
export const STUCK_MS = 60_000

/** The streams that are open in this process. */
export type StreamHub = {
  ctx: Ctx
  streams: Set<ChangeStream>
  subscriptions: Disposable[]
  check: NodeJS.Timeout | undefined
  next: NodeJS.Timeout | undefined
  isServing: boolean
  servedAt: number
  /** The last delivery has failed, as all do while the database is away. */
  isFailing: boolean
  saidAt: number
}

export const hubs = new WeakMap<Ctx['changes'], StreamHub>()

export function streamHubOf(ctx: Ctx): StreamHub {
  const known = hubs.get(ctx.changes)
  if (known) return known
  const hub: StreamHub = {
    ctx: { ...ctx, actor: SYSTEM },
    streams: new Set(),
    subscriptions: [],
    check: undefined,
    next: undefined,
    isServing: false,
    servedAt: -Infinity,
    isFailing: false,
    saidAt: -Infinity,
  }
  hubs.set(ctx.changes, hub)
  return hub
}

/** Tells the stream of what changes from now on, until it closes. One loop serves all streams of the process. */
export function addStream(hub: StreamHub, stream: ChangeStream) {
  if (hub.streams.size === 0) begin(hub)
  hub.streams.add(stream)
  stream.readable.once('close', () => {
    hub.streams.delete(stream)
    if (hub.streams.size === 0) rest(hub)
  })
  wakeStreams(hub)
}

export function begin(hub: StreamHub) {
  const { changes, signals } = hub.ctx
  const changed = changes.listen((change) => {
    for (const stream of hub.streams) if (stream.organizationId === change.organization) addPending(stream, change)
    wakeStreams(hub)
  })
  const missed = changes.onGap(() => {
    for (const stream of hub.streams) resetStream(stream)
    wakeStreams(hub)
  })
  const access = signals.listen(ACCESS_TOPIC, (organizationId) => {
    for (const stream of hub.streams) {
      if (organizationId === '' || stream.organizationId === organizationId) stream.isSuspect = true
    }
    wakeStreams(hub)
  })
  hub.subscriptions = [changed, missed, access]
  hub.check = setInterval(() => wakeStreams(hub), CHECK_MS).unref()
}

export function rest(hub: StreamHub) {
  for (const subscription of hub.subscriptions.splice(0)) subscription[Symbol.dispose]()
  clearInterval(hub.check)
  clearTimeout(hub.next)
  hub.next = undefined
}

/** Makes the loop look at the streams soon. */
export function wakeStreams(hub: StreamHub) {
  if (hub.next || hub.isServing || hub.streams.size === 0) return
  const waitMs = Math.max(
    GATHER_MS,
    hub.servedAt + (hub.isFailing ? WAKE_STREAMS_RETRY_MS : PACE_MS) - performance.now(),
  )
  hub.next = setTimeout(() => {
    hub.next = undefined
    void serve(hub)
  }, waitMs).unref()
}

export async function serve(hub: StreamHub) {
  hub.isServing = true
  const { ctx } = hub
  const now = performance.now()
  try {
    const streams = [...hub.streams]
    for (const stream of streams) if (isGone(stream, now)) stream.readable.destroy()
    await readRights(
      ctx,
      streams.filter((stream) => isDue(stream, now)),
    )
    await deliverChanges(ctx, streams)
    hub.isFailing = false
  } catch (error) {
    hub.isFailing = true
    logFailure(hub, error)
  }
  for (const stream of hub.streams) keepAlive(ctx, stream)
  hub.servedAt = performance.now()
  hub.isServing = false
  if ([...hub.streams].some((stream) => stream.stuckSince === undefined && hasNews(stream))) wakeStreams(hub)
}

export function logFailure(hub: StreamHub, error: unknown) {
  const now = performance.now()
  if (now - hub.saidAt < SAY_MS) return
  hub.saidAt = now
  hub.ctx.log.error({ err: loggedError(error) }, 'sending changes')
}

export function isGone({ stuckSince }: ChangeStream, now: number) {
  return stuckSince !== undefined && now - stuckSince > STUCK_MS
}

/** Advances the cursor of an up-to-date client past changes elsewhere. */
export function keepAlive({ changes }: Ctx, stream: ChangeStream) {
  if (stream.stuckSince !== undefined || performance.now() - stream.sentAt < ALIVE_MS) return
  sendSign(stream, 'alive', hasNews(stream) ? stream.cursor : changes.cursor())
}
