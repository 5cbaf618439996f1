import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { afterCommit, type Db, isTransaction } from './db/db.ts'
import { writeLater } from './db/later.ts'
import type { WrittenRows } from './db/pool.ts'
import type { Polls } from './polls.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000
/** How often the connection is asked whether it is there, in ms. */
const LIVENESS_MS = 10_000
/** A connection that does not answer for this long, in ms, is given up: a network may lose one without a word. */
const SILENCE_MS = 10_000
/** Signals that nobody has passed on: their server died, or somebody else has written. */
const ARE_LEFT = sql<boolean>`exists (select from signals)`
/** Signals of changes are passed on together within this time, in ms: nobody waits for them in order to go on. */
const WINDOW_MS = 50
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
  /**
   * As `publish`, but to this process alone where it has a listener that is ready, and then not by way of the database. In a transaction it
   * is sent with the next statement.
   */
  publishToOne(db: Db, topic: string): Promise<void>
  /**
   * Passes on what a transaction that has committed here may have left: in a moment, or with what follows when it has published nothing
   * by itself.
   */
  passOn(what: WrittenRows): void
  /** Resolves to true when `topic` is published, to false after `timeoutMs` or on the abort. */
  wait(topic: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  /** Starts to listen for `topic`. A caller that subscribes before it reads misses nothing that is published in between. */
  subscribe(topic: string): Subscription
  /**
   * Calls `listener` with the detail whenever `topic` is published, until it is disposed of. `isReady` says whether the listener can do now
   * what `toOne` and `publishToOne` leave to a single process: the detail is the name of that process then.
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
  if (topics.length === 0 && !more) return sql`select`
  const all = more ? sql`(select unnest(${topics}::text[]) union all ${more})` : sql`unnest(${topics}::text[])`
  return sql`insert into signals (topic) select topic from ${all} as published (topic)`
}

/** As `publishing`, of topics that can wait as those of triggers do: the pool of connections knows it by the name. */
export function publishingSoon(topics: readonly string[]) {
  return sql`insert into signals as told_soon (topic) select unnest(${topics}::text[])`
}

export async function createSignals(url: string, polls: Polls): Promise<Signals> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const gaps = new EventEmitter().setMaxListeners(0)
  const id = randomUUID()
  const readiness = new Map<string, () => boolean>()
  let client: pg.Client | undefined
  let asking: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let windowEnd: NodeJS.Timeout | undefined
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

  function passOn(what: WrittenRows) {
    if (what === 'signals') passNow()
    else windowEnd ??= setTimeout(passNow, WINDOW_MS).unref()
  }

  function passNow() {
    clearTimeout(windowEnd)
    windowEnd = undefined
    relay.isAsked = true
    if (relay.isBusy) return
    relay.isBusy = true
    setImmediate(() => void passAsked())
  }

  /** Passes on also what others have left, which shows that the connection is there. */
  function passAll() {
    relay.isAll = true
    passNow()
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
    async publishToOne(db, topic) {
      if (readiness.get(topic)?.() === true) return afterCommit(db, () => emitter.emit(topic, id))
      const published = publishing([topic])
      return isTransaction(db) ? writeLater(db, published) : void (await published.execute(db))
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
      if (windowEnd && client) await passBatch(client, 0).catch(() => {})
      clearTimeout(windowEnd)
      await client?.end()
    },
  }
}
