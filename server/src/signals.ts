import { EventEmitter } from 'node:events'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Db } from './db/db.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000
/** A connection that does not answer is found within about two of these, in ms: a network may lose one without a word. */
const PROBE_MS = 10_000

/**
 * Signals wake waiters on every replica, through LISTEN/NOTIFY. A signal is a hint: it is lost while the connection is down,
 * so every waiter polls as well, or asks `onGap` when it must begin anew. A topic has no blank in its name. After one, a signal may
 * carry a detail, at most 7000 bytes of it. All replicas get the signals in the same order.
 */
export type Signals = {
  /** Publishes `topic` when the transaction commits; at once outside of a transaction. */
  publish(db: Db, topic: string): Promise<void>
  /** Resolves to true when `topic` is published, to false after `timeoutMs` or on the abort. */
  wait(topic: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  /** Starts to listen for `topic`. A caller that subscribes before it reads misses nothing that is published in between. */
  subscribe(topic: string): Subscription
  /** Calls `listener` with the detail whenever `topic` is published, until it is disposed of. */
  listen(topic: string, listener: (detail: string) => void): Disposable
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
 * SQL that publishes the topics when the transaction commits, as part of a larger statement; also those that the query
 * `more` selects as `topic`.
 */
export function publishing(topics: readonly string[], more?: RawBuilder<{ topic: string }>) {
  const all = more ? sql`(select unnest(${topics}::text[]) union all ${more})` : sql`unnest(${topics}::text[])`
  return sql`select pg_notify(${CHANNEL}, topic) from ${all} as published (topic)`
}

export async function createSignals(url: string): Promise<Signals> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const gaps = new EventEmitter().setMaxListeners(0)
  let client: pg.Client | undefined
  let probe: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let closed = false

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
      clearTimeout(probe)
      scheduleReconnect()
    })
    await next.connect()
    await next.query(`listen ${CHANNEL}`)
    if (closed) return next.end()
    client = next
    scheduleProbe(next)
    return undefined
  }

  function scheduleProbe(probed: pg.Client) {
    probe = setTimeout(() => {
      const limit = setTimeout(() => probed.connection.stream.destroy(), PROBE_MS).unref()
      probed
        .query('select')
        .then(() => client === probed && !closed && scheduleProbe(probed))
        .catch(() => {})
        .finally(() => clearTimeout(limit))
    }, PROBE_MS)
    probe.unref()
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
    async publish(db, topic) {
      await sql`select pg_notify(${CHANNEL}, ${topic})`.execute(db)
    },
    async wait(topic, options) {
      using subscription = subscribe(topic)
      return await subscription.next(options)
    },
    subscribe,
    listen(topic, listener) {
      emitter.on(topic, listener)
      return { [Symbol.dispose]: () => void emitter.off(topic, listener) }
    },
    onGap(listener) {
      gaps.on('gap', listener)
      return { [Symbol.dispose]: () => void gaps.off('gap', listener) }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(reconnecting)
      clearTimeout(probe)
      await client?.end()
    },
  }
}
