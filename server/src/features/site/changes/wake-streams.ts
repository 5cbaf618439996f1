import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { ACCESS_TOPIC } from '../../../changes/announce.ts'
import { loggedError } from '../../../http/request-log.ts'
import { deliverChanges, isDue, readRights } from './deliver.ts'
import { addPending, beginAnew, type ChangeStream, hasNews, sendSign } from './stream.ts'

/** The time between two deliveries, in ms: what changes meanwhile is sent together, each thing once. */
const PACE_MS = 150
/** A single change is sent this long after it came, in ms, since it seldom comes alone. */
const GATHER_MS = 10
const CHECK_MS = 1000
/** The time between two deliveries while they fail, and at least between two lines that say so, in ms. */
const RETRY_MS = 1000
const SAY_MS = 10_000
const ALIVE_MS = 15_000
/** A client that has not read for this long, in ms, is gone. */
const STUCK_MS = 60_000

/** The streams that are open in this process. */
export type Desk = {
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

const desks = new WeakMap<Ctx['changes'], Desk>()

export function deskOf(ctx: Ctx): Desk {
  const known = desks.get(ctx.changes)
  if (known) return known
  const desk: Desk = {
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
  desks.set(ctx.changes, desk)
  return desk
}

/** Tells the stream of what changes from now on, until it closes. One loop serves all streams of the process. */
export function addStream(desk: Desk, stream: ChangeStream) {
  if (desk.streams.size === 0) begin(desk)
  desk.streams.add(stream)
  stream.readable.once('close', () => {
    desk.streams.delete(stream)
    if (desk.streams.size === 0) rest(desk)
  })
  wakeStreams(desk)
}

function begin(desk: Desk) {
  const { changes, signals } = desk.ctx
  const changed = changes.listen((change) => {
    for (const stream of desk.streams) if (stream.organizationId === change.organization) addPending(stream, change)
    wakeStreams(desk)
  })
  const missed = changes.onGap(() => {
    for (const stream of desk.streams) beginAnew(stream)
    wakeStreams(desk)
  })
  const access = signals.listen(ACCESS_TOPIC, (organizationId) => {
    for (const stream of desk.streams) {
      if (organizationId === '' || stream.organizationId === organizationId) stream.isSuspect = true
    }
    wakeStreams(desk)
  })
  desk.subscriptions = [changed, missed, access]
  desk.check = setInterval(() => wakeStreams(desk), CHECK_MS).unref()
}

function rest(desk: Desk) {
  for (const subscription of desk.subscriptions.splice(0)) subscription[Symbol.dispose]()
  clearInterval(desk.check)
  clearTimeout(desk.next)
  desk.next = undefined
}

/** Makes the loop look at the streams soon. */
export function wakeStreams(desk: Desk) {
  if (desk.next || desk.isServing || desk.streams.size === 0) return
  const waitMs = Math.max(GATHER_MS, desk.servedAt + (desk.isFailing ? RETRY_MS : PACE_MS) - performance.now())
  desk.next = setTimeout(() => {
    desk.next = undefined
    void serve(desk)
  }, waitMs).unref()
}

async function serve(desk: Desk) {
  desk.isServing = true
  const { ctx } = desk
  const now = performance.now()
  try {
    const streams = [...desk.streams]
    for (const stream of streams) if (isGone(stream, now)) stream.readable.destroy()
    await readRights(
      ctx,
      streams.filter((stream) => isDue(stream, now)),
    )
    await deliverChanges(ctx, streams)
    desk.isFailing = false
  } catch (error) {
    desk.isFailing = true
    sayFailure(desk, error)
  }
  for (const stream of desk.streams) keepAlive(ctx, stream)
  desk.servedAt = performance.now()
  desk.isServing = false
  if ([...desk.streams].some((stream) => stream.stuckSince === undefined && hasNews(stream))) wakeStreams(desk)
}

function sayFailure(desk: Desk, error: unknown) {
  const now = performance.now()
  if (now - desk.saidAt < SAY_MS) return
  desk.saidAt = now
  desk.ctx.log.error({ err: loggedError(error) }, 'sending changes')
}

function isGone({ stuckSince }: ChangeStream, now: number) {
  return stuckSince !== undefined && now - stuckSince > STUCK_MS
}

/** The cursor of a client that has been told of everything moves on, whatever has changed elsewhere. */
function keepAlive({ changes }: Ctx, stream: ChangeStream) {
  if (stream.stuckSince !== undefined || performance.now() - stream.sentAt < ALIVE_MS) return
  sendSign(stream, 'alive', hasNews(stream) ? stream.cursor : changes.cursor())
}
