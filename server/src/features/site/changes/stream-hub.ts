import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { ACCESS_TOPIC } from '../../../changes/announce.ts'
import { loggedError } from '../../../log.ts'
import { liveStreams } from '../../../metrics.ts'
import { deliverChanges, needsAccess, refreshAccess } from './deliver.ts'
import { type ChangeStream, addPending, hasPending, resetStream, sendEvent } from './stream.ts'

/** Interval between deliveries, in ms; changes in between are sent together, without duplicates. */
const DELIVERY_INTERVAL_MS = 150
/** Delay of a delivery, in ms, since changes seldom come alone. */
const BATCH_DELAY_MS = 10
const CHECK_INTERVAL_MS = 1000
const RETRY_DELAY_MS = 1000
/** Minimum interval between two log lines about failing deliveries, in ms. */
const LOG_INTERVAL_MS = 10_000
const KEEP_ALIVE_MS = 15_000
/** A client that has not read for this long, in ms, is disconnected. */
const STALL_TIMEOUT_MS = 60_000

/** The open streams of this process, served by one loop. */
type StreamHub = ReturnType<typeof createHub>

function createHub(ctx: Ctx) {
  return {
    ctx: { ...ctx, actor: SYSTEM },
    streams: new Set<ChangeStream>(),
    subscriptions: [] as Disposable[],
    check: undefined as NodeJS.Timeout | undefined,
    next: undefined as NodeJS.Timeout | undefined,
    isServing: false,
    servedAt: -Infinity,
    isFailing: false,
    loggedAt: -Infinity,
  }
}

const hubs = new WeakMap<Ctx['changes'], StreamHub>()

export function streamHubOf(ctx: Ctx) {
  const hub = hubs.get(ctx.changes) ?? createHub(ctx)
  hubs.set(ctx.changes, hub)
  return hub
}

/** Sends changes to the stream until it closes. */
export function addStream(hub: StreamHub, stream: ChangeStream) {
  if (hub.streams.size === 0) subscribe(hub)
  hub.streams.add(stream)
  liveStreams.inc()
  stream.readable.once('close', () => {
    hub.streams.delete(stream)
    liveStreams.dec()
    if (hub.streams.size === 0) unsubscribe(hub)
  })
  wakeStreams(hub)
}

function subscribe(hub: StreamHub) {
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
      if (organizationId === '' || stream.organizationId === organizationId) stream.isOutdated = true
    }
    wakeStreams(hub)
  })
  hub.subscriptions = [changed, missed, access]
  hub.check = setInterval(() => wakeStreams(hub), CHECK_INTERVAL_MS).unref()
}

function unsubscribe(hub: StreamHub) {
  for (const subscription of hub.subscriptions.splice(0)) subscription[Symbol.dispose]()
  clearInterval(hub.check)
  clearTimeout(hub.next)
  hub.next = undefined
}

export function wakeStreams(hub: StreamHub) {
  if (hub.next || hub.isServing || hub.streams.size === 0) return
  const intervalMs = hub.isFailing ? RETRY_DELAY_MS : DELIVERY_INTERVAL_MS
  const waitMs = Math.max(BATCH_DELAY_MS, hub.servedAt + intervalMs - performance.now())
  hub.next = setTimeout(() => {
    hub.next = undefined
    void serve(hub)
  }, waitMs).unref()
}

async function serve(hub: StreamHub) {
  hub.isServing = true
  const { ctx } = hub
  const now = performance.now()
  try {
    const streams = [...hub.streams]
    for (const { stalledSince, readable } of streams) {
      if (stalledSince !== undefined && now - stalledSince > STALL_TIMEOUT_MS) readable.destroy()
    }
    const outdated = streams.filter((stream) => needsAccess(stream, now))
    await refreshAccess(ctx, outdated)
    await deliverChanges(ctx, streams)
    hub.isFailing = false
  } catch (error) {
    hub.isFailing = true
    logFailure(hub, error)
  }
  for (const stream of hub.streams) keepAlive(ctx, stream)
  hub.servedAt = performance.now()
  hub.isServing = false
  if ([...hub.streams].some((stream) => stream.stalledSince === undefined && hasPending(stream))) wakeStreams(hub)
}

function logFailure(hub: StreamHub, error: unknown) {
  const now = performance.now()
  if (now - hub.loggedAt < LOG_INTERVAL_MS) return
  hub.loggedAt = now
  hub.ctx.log.error({ err: loggedError(error) }, 'sending changes')
}

/** Advances the cursor of an up-to-date client past changes elsewhere. */
function keepAlive({ changes }: Ctx, stream: ChangeStream) {
  if (stream.stalledSince !== undefined || performance.now() - stream.sentAt < KEEP_ALIVE_MS) return
  sendEvent(stream, 'alive', hasPending(stream) ? stream.cursor : changes.cursor())
}
