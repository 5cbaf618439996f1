import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Db } from './db/db.ts'
import type { Polls } from './polls.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000
/** How often the connection is asked whether it is there, in ms. */
const LIVENESS_MS = 10_000
/** A connection that does not answer for this long, in ms, is given up: a network may lose one without a word. */
const SILENCE_MS = 10_000
/** Signals that nobody has passed on: their server died, or somebody else has written. */
const ARE_LEFT = sql<boolean>`exists (select from signals)`
/** So many signals are passed on at once. */
const BATCH = 1000
/** Those of transactions that take longer than so many polls (`POLL_MS`) are passed on by a poll. */
const REMEMBERED_POLLS = 5
/** The key of the lock that lets one server at a time pass signals on, so that they keep their order. */
const RELAY_LOCK = 7_145_001

/**
 * Passes on what committed transactions have left in the table `signals`. Servers wait for each other's statement, since the first of two
 * changes must be told first.
 */
const RELAY = `with alone as materialized (select pg_advisory_xact_lock(${RELAY_LOCK})),
  passed as (
    delete from signals where id in (select id from signals where id > $1 and (select true from alone) order by id limit ${BATCH})
    returning id, topic)
  select count(pg_notify('${CHANNEL}', topic))::integer as count, max(id)::float8 as last
    from (select id, topic from passed order by id) ordered`

/**
 * Signals wake waiters on every replica, through LISTEN/NOTIFY. A signal is a hint: it is lost while the connection is down,
 * so every waiter polls as well, or asks `onGap` when it must begin anew. A topic has no blank in its name. After one, a signal may
 * carry a detail, at most 7000 bytes of it. All replicas get the signals in the same order.
 *
 * A transaction leaves its signals in a table, and its server passes them on once it has committed: transactions that notify
 * themselves commit one after the other (migration 0099).
 */
export type Signals = {
  /** The name of this process among those that listen. */
  id: string
  /** Publishes `topic` when the transaction commits; at once outside of a transaction. */
  publish(db: Db, topic: string): Promise<void>
  /** The topic, in the form that `publish` and `publishing` take: to this process alone where it has a listener that is ready. */
  toOne(topic: string): string
  /** Passes on, in a moment, what has been published by a transaction that has committed here. */
  passOn(): void
  /** Resolves to true when `topic` is published, to false after `timeoutMs` or on the abort. */
  wait(topic: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  /** Starts to listen for `topic`. A caller that subscribes before it reads misses nothing that is published in between. */
  subscribe(topic: string): Subscription
  /**
   * Calls `listener` with the detail whenever `topic` is published, until it is disposed of. `isReady` says whether the listener can do now
   * what `toOne` leaves to a single process: the detail is the name of that process then.
   */
  listen(topic: string, listener: (detail: string) => void, isReady?: () => boolean): Disposable
  /** Calls `listener` when signals come again after some may have been lost, until it is disposed of. */
  onGap(listener: () => void): Disposable
  [Symbol.asyncDispose](): Promise<void>
}

export type Subscription = {
  /** As `wait`. Resolves at once when the topic was published since the subscription or the last `next`. */
  next(options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  [Symbol.dispose](): void
}

/** A topic with a detail, in the form that `publish` and `publishing` take. */
export function withDetail(topic: string, detail: string) {
  return `${topic} ${detail}`
}

/**
 * A statement that publishes the topics when the transaction commits, also as part of a larger one; and those that the query
 * `more` selects as `topic`.
 */
export function publishing(topics: readonly string[], more?: RawBuilder<{ topic: string }>) {
  const all = more ? sql`(select unnest(${topics}::text[]) union all ${more})` : sql`unnest(${topics}::text[])`
  return sql`insert into signals (topic) select topic from ${all} as published (topic)`
}

export async function createSignals(url: string, polls: Polls): Promise<Signals> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const gaps = new EventEmitter().setMaxListeners(0)
  const id = randomUUID()
  const readiness = new Map<string, () => boolean>()
  let client: pg.Client | undefined
  let asking: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let closed = false
  const relay = { isBusy: false, isAsked: false, isAll: false, last: 0, lasts: [] as number[] }

  async function connect() {
    const next = new pg.Client({ connectionString: url, application_name: 'groundstate-signals', keepAlive: true })
    next.on('notification', ({ payload = '' }) => {
      const blank = payload.indexOf(' ')
      if (blank < 0) emitter.emit(payload, '')
      else emitter.emit(payload.slice(0, blank), payload.slice(blank + 1))
    })
    next.on('error', () => void next.end().catch(() => {}))
    next.on('end', () => {
      if (closed || client !== next) return
      client = undefined
      clearInterval(asking)
      scheduleReconnect()
    })
    await next.connect()
    // What is passed on twice or never after a crash of the database is a hint only.
    await next.query(`set synchronous_commit = off; listen ${CHANNEL}`)
    if (closed) return next.end()
    client = next
    // A database that has crashed numbers anew.
    Object.assign(relay, { last: 0, lasts: [] })
    asking = setInterval(passAll, LIVENESS_MS).unref()
    passAll()
    return undefined
  }

  /** Passes on those after the one with the number `after`; returns whether there may be more. */
  async function passBatch(by: pg.Client, after: number) {
    const limit = setTimeout(() => by.connection.stream.destroy(), SILENCE_MS).unref()
    const { rows } = await by
      .query<{ count: number; last: number | null }>({ name: 'relay', text: RELAY, values: [after] })
      .finally(() => clearTimeout(limit))
    const [{ count, last } = { count: 0, last: null }] = rows
    relay.last = Math.max(relay.last, last ?? 0)
    return count === BATCH
  }

  /** What has come meanwhile is passed on together. The dead rows of numbers from long ago are not read each time. */
  async function passAsked() {
    for (let by = client; relay.isAsked && by; by = client) {
      const isAll = relay.isAll || relay.lasts.length < REMEMBERED_POLLS
      Object.assign(relay, { isAsked: false, isAll: false })
      // A poll passes on what this one could not.
      const hasMore = await passBatch(by, isAll ? 0 : (relay.lasts.at(-1) ?? 0)).catch(() => false)
      if (hasMore) Object.assign(relay, { isAsked: true, isAll: relay.isAll || isAll })
    }
    relay.isBusy = false
  }

  function passOn() {
    relay.isAsked = true
    if (relay.isBusy) return
    relay.isBusy = true
    setImmediate(() => void passAsked())
  }

  /** Passes on also what others have left, which shows that the connection is there. */
  function passAll() {
    relay.isAll = true
    passOn()
  }

  function onPoll(areLeft: boolean) {
    relay.lasts = [relay.last, ...relay.lasts].slice(0, REMEMBERED_POLLS)
    if (areLeft) passAll()
  }

  async function reconnect() {
    await connect()
    if (!closed) gaps.emit('gap')
  }

  function scheduleReconnect() {
    reconnecting = setTimeout(() => void reconnect().catch(() => closed || scheduleReconnect()), RECONNECT_MS)
    reconnecting.unref()
  }

  await connect()
  const question = polls.add({ ask: () => ARE_LEFT, answer: onPoll })

  function subscribe(topic: string): Subscription {
    let published = false
    let wake: (() => void) | undefined
    const onSignal = () => {
      published = true
      wake?.()
    }
    emitter.on(topic, onSignal)
    return {
      async next({ timeoutMs, signal }) {
        if (!published && timeoutMs > 0 && !signal?.aborted) {
          await new Promise<void>((resolve) => {
            const end = () => {
              clearTimeout(timer)
              signal?.removeEventListener('abort', end)
              wake = undefined
              resolve()
            }
            const timer = setTimeout(end, timeoutMs)
            // An abort signal may live as long as the process, and serve many waits.
            signal?.addEventListener('abort', end)
            wake = end
          })
        }
        const result = published
        published = false
        return result
      },
      [Symbol.dispose]() {
        emitter.off(topic, onSignal)
      },
    }
  }

  return {
    id,
    toOne: (topic) => (readiness.get(topic)?.() === true ? withDetail(topic, id) : topic),
    async publish(db, topic) {
      await publishing([topic]).execute(db)
    },
    passOn,
    async wait(topic, options) {
      using subscription = subscribe(topic)
      return await subscription.next(options)
    },
    subscribe,
    listen(topic, listener, isReady) {
      emitter.on(topic, listener)
      if (isReady) readiness.set(topic, isReady)
      return {
        [Symbol.dispose]() {
          emitter.off(topic, listener)
          if (isReady && readiness.get(topic) === isReady) readiness.delete(topic)
        },
      }
    },
    onGap(listener) {
      gaps.on('gap', listener)
      return { [Symbol.dispose]: () => void gaps.off('gap', listener) }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(reconnecting)
      clearInterval(asking)
      question[Symbol.dispose]()
      await client?.end()
    },
  }
}
