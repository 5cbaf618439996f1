import { EventEmitter } from 'node:events'
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from './db/db.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000

/**
 * Wakes whoever waits for something, on every replica, through LISTEN/NOTIFY. A signal is a hint: it may be missed while
 * the connection is away, so every waiter also looks by itself now and then.
 */
export type Signals = {
  /** Announces `topic` when the transaction commits (at once outside of one). */
  send(db: Db, topic: string): Promise<void>
  /** Resolves when `topic` is announced (true), or after `timeoutMs` or the abort (false). */
  wait(topic: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  /** Starts to listen for `topic` before the caller looks, so that nothing announced in between is missed. */
  subscribe(topic: string): Subscription
  [Symbol.asyncDispose](): Promise<void>
}

export type Subscription = {
  /** As `wait`; what was announced since the subscription, or since the last `next`, resolves it at once. */
  next(options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  [Symbol.dispose](): void
}

/** SQL that announces the topics when the transaction commits, for a statement that does other things too. */
export function announcing(topics: readonly string[]) {
  return sql`select pg_notify(${CHANNEL}, topic) from unnest(${topics}::text[]) topic`
}

export async function createSignals(url: string): Promise<Signals> {
  const emitter = new EventEmitter().setMaxListeners(0)
  let client: pg.Client | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let closed = false

  async function connect() {
    const next = new pg.Client({ connectionString: url, application_name: 'groundstate-signals', keepAlive: true })
    next.on('notification', (message) => emitter.emit(message.payload ?? ''))
    next.on('error', () => void next.end().catch(() => {}))
    next.on('end', () => {
      if (closed || client !== next) return
      client = undefined
      scheduleReconnect()
    })
    await next.connect()
    await next.query(`listen ${CHANNEL}`)
    if (closed) return next.end()
    client = next
    return undefined
  }

  function scheduleReconnect() {
    reconnecting = setTimeout(() => void connect().catch(() => closed || scheduleReconnect()), RECONNECT_MS)
    reconnecting.unref()
  }

  await connect()

  function subscribe(topic: string): Subscription {
    let announced = false
    let wake: (() => void) | undefined
    const onSignal = () => {
      announced = true
      wake?.()
    }
    emitter.on(topic, onSignal)
    return {
      async next({ timeoutMs, signal }) {
        if (!announced && timeoutMs > 0 && !signal?.aborted) {
          await new Promise<void>((resolve) => {
            const end = () => {
              clearTimeout(timer)
              signal?.removeEventListener('abort', end)
              wake = undefined
              resolve()
            }
            const timer = setTimeout(end, timeoutMs)
            // A signal may live as long as the process, and see many waits.
            signal?.addEventListener('abort', end)
            wake = end
          })
        }
        const result = announced
        announced = false
        return result
      },
      [Symbol.dispose]() {
        emitter.off(topic, onSignal)
      },
    }
  }

  return {
    async send(db, topic) {
      await sql`select pg_notify(${CHANNEL}, ${topic})`.execute(db)
    },
    async wait(topic, options) {
      using subscription = subscribe(topic)
      return await subscription.next(options)
    },
    subscribe,
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(reconnecting)
      await client?.end()
    },
  }
}
