import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { type Db, afterCommit, isUnavailable } from './db/db.ts'
import { type Log, loggedError } from './log.ts'
import type { Polls } from './polls.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000
/** How often the connection is checked, in ms. */
const LIVENESS_MS = 10_000
/** A connection that does not answer for this long, in ms, is given up: a network may lose one silently. */
const DATABASE_TIMEOUT_MS = 10_000
/** Topics of `publishSoon` are sent together within this time, in ms. */
const WINDOW_MS = 50
const MAX_BATCH = 1000
/** More than this are not kept while the database is unreachable; all listeners learn of the gap instead. */
const MAX_QUEUED = 20_000

/** Topics of this module: a server has started, has stopped, or has lost signals. */
const JOINED = 'server-joined'
const LEFT = 'server-left'
const LOST = 'signals-lost'

const SIGNALS_SESSION = 'groundstate-signals'
const POOL_SESSION = 'groundstate'

const NOTIFY = `select pg_notify('${CHANNEL}', $1 || ' ' || topic) from unnest($2::text[]) as topic`

/**
 * The servers that have a listening connection or a statement that may still be committed. A session that idles in a pool is none: a
 * pooler keeps those of servers that died.
 */
const SERVERS = sql<string[]>`array(select distinct split_part(application_name, ' ', 2) from pg_stat_activity
  where datname = current_database()
    and (application_name like ${`${SIGNALS_SESSION} %`}
      or (application_name like ${`${POOL_SESSION} %`} and length(application_name) = ${sql.lit(POOL_SESSION.length + 37)} and state <> 'idle')))`

/** The name of the pooled sessions of a server, by which other servers know whether one of its transactions is still open. */
export function poolSessionName(serverId: string) {
  return `${POOL_SESSION} ${serverId}`
}

/**
 * Signals wake waiters on every replica, through LISTEN/NOTIFY. A signal is a hint: it is lost while the connection is down, so every
 * waiter polls as well, or resets on `onGap`. A topic contains no blank. After one, a signal may carry a detail of up to 7000 bytes. All
 * replicas receive the signals in the same order.
 *
 * A server sends the signals of a transaction once it has committed, on a separate connection: a transaction that notifies holds a lock of the whole
 * database until its commit is on disk. A server that is killed in between sends nothing. The others notice that it has disappeared
 * without a farewell, and call `onGap`.
 */
export type Signals = {
  /** The id of this process among those that listen. */
  id: string
  /** Publishes topics when the transaction of `db` has committed; at once outside of a transaction. */
  publish(db: Db, topics: Topics): void
  /** As `publish`, within 50 ms, and equal topics once. */
  publishSoon(db: Db, topics: Topics): void
  /** The topic, in the form that `publish` takes: to this process alone where it has a listener that is ready. */
  toOne(topic: string): string
  /** As `publish`, but to this process alone where it has a listener that is ready, and then not by way of the database. */
  publishToOne(db: Db, topic: string): void
  /** Resolves to true when `topic` is published, to false after `timeoutMs` or on the abort. */
  wait(topic: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  /** Starts to listen for `topic`. A caller that subscribes before it reads misses nothing that is published in between. */
  subscribe(topic: string): Subscription
  /**
   * Calls `listener` with the detail whenever `topic` is published, until it is disposed of; `batch` is common to the signals that
   * were sent together, and the same on all replicas. `isReady` says whether the listener can do now
   * what `toOne` and `publishToOne` leave to a single process: the detail is the id of that process then.
   */
  listen(topic: string, listener: (detail: string, batch: string) => void, isReady?: () => boolean): Disposable
  /** Calls `listener` when signals may have been lost, until it is disposed of. */
  onGap(listener: () => void): Disposable
  [Symbol.asyncDispose](): Promise<void>
}

/** One topic, several, or what finds them once the transaction has committed. */
export type Topics = string | readonly string[] | (() => Promise<readonly string[]>)

export type Subscription = {
  /** As `wait`. Resolves at once when the topic was published since the subscription or the last `next`. */
  next(options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean>
  [Symbol.dispose](): void
}

/** A topic with a detail, in the form that `publish` takes. */
export function withDetail(topic: string, detail: string) {
  return `${topic} ${detail}`
}

type SignalOptions = {
  /** Unique among all servers of the database. */
  id: string
  polls: Polls
  log?: Log
}

export async function createSignals(url: string, { id, polls, log }: SignalOptions): Promise<Signals> {
  const emitter = new EventEmitter().setMaxListeners(0)
  const gaps = new EventEmitter().setMaxListeners(0)
  const readiness = new Map<string, () => boolean>()
  /** The other servers that were seen and have not said farewell. */
  const peers = new Set<string>()
  let queued = new Set<string>()
  let batches = 0
  let client: pg.Client | undefined
  let liveness: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let windowEnd: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let closed = false

  async function connect() {
    const next = new pg.Client({
      connectionString: url,
      application_name: `${SIGNALS_SESSION} ${id}`,
      keepAlive: true,
    })
    next.on('notification', ({ payload = '' }) => receive(payload))
    next.on('error', () => void next.end().catch(() => {}))
    next.on('end', () => {
      if (closed || client !== next) return
      client = undefined
      clearInterval(liveness)
      scheduleReconnect()
    })
    await next.connect()
    // A signal that is lost or repeated after a crash of the database is only a hint.
    await next.query(`set synchronous_commit = off; listen ${CHANNEL}`)
    if (closed) return next.end()
    client = next
    liveness = setInterval(() => void checkLiveness(next), LIVENESS_MS).unref()
    queued = new Set([withDetail(JOINED, id), ...queued])
    send()
    return undefined
  }

  function receive(payload: string) {
    const [, batch = '', topic = '', detail = ''] = /^(\S*) (\S*) ?(.*)$/s.exec(payload) ?? []
    if (topic === JOINED && detail !== id) peers.add(detail)
    else if (topic === LEFT) peers.delete(detail)
    else if (topic === LOST) gaps.emit('gap')
    else emitter.emit(topic, detail, batch)
  }

  /** Gives up the connection when the query is not answered in time. */
  async function limited<T>(by: pg.Client, query: Promise<T>) {
    const timer = setTimeout(() => by.connection.stream.destroy(), DATABASE_TIMEOUT_MS).unref()
    return query.finally(() => clearTimeout(timer))
  }

  async function checkLiveness(by: pg.Client) {
    await limited(by, by.query('select')).catch(() => {})
    send()
  }

  function send() {
    clearTimeout(windowEnd)
    windowEnd = undefined
    if (retry) return
    sending ??= sendQueued().finally(() => {
      sending = undefined
    })
  }

  /** Signals that a connection failed to send are sent by the next one. */
  async function sendQueued() {
    // What is published in the same turn goes along.
    await nextTurn()
    for (let by = client; by && queued.size > 0; by = client) {
      const topics = [...queued].slice(0, MAX_BATCH)
      for (const topic of topics) queued.delete(topic)
      batches += 1
      const values = [`${id}-${batches}`, topics]
      try {
        await limited(by, by.query({ name: 'notify', text: NOTIFY, values }))
      } catch (error) {
        const isRefused = error instanceof pg.DatabaseError && !isUnavailable(error)
        queued = new Set([...(isRefused ? [LOST] : topics), ...queued])
        if (!isRefused) return
        log?.error({ err: loggedError(error) }, 'sending signals')
        // What comes next would be refused as well: another session may have left no room for notifications.
        retry = setTimeout(() => {
          retry = undefined
          send()
        }, RECONNECT_MS).unref()
        return
      }
    }
  }

  function enqueue(topics: readonly string[]) {
    if (queued.size + topics.length > MAX_QUEUED) queued = new Set([LOST])
    else for (const topic of topics) queued.add(topic)
  }

  function enqueueAfterCommit(db: Db, topics: Topics, sendThem: () => void) {
    if (typeof topics === 'function') {
      const find = async () => {
        enqueue(await topics())
        sendThem()
      }
      // It fails when its statement went with a COMMIT whose response was lost: what has changed is not known.
      return afterCommit(
        db,
        () =>
          void find().catch(() => {
            enqueue([LOST])
            sendThem()
          }),
      )
    }
    const known = typeof topics === 'string' ? [topics] : topics
    if (known.length === 0) return
    afterCommit(db, () => {
      enqueue(known)
      sendThem()
    })
  }

  function sendSoon() {
    windowEnd ??= setTimeout(send, WINDOW_MS).unref()
  }

  function publish(db: Db, topics: Topics) {
    enqueueAfterCommit(db, topics, send)
  }

  function onServers(present: string[]) {
    const found = new Set(present)
    const lost = [...peers].filter((peer) => !found.has(peer))
    for (const peer of lost) peers.delete(peer)
    for (const peer of found) if (peer !== '' && peer !== id) peers.add(peer)
    if (lost.length > 0) gaps.emit('gap')
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
  const question = polls.add({ ask: () => SERVERS, response: onServers })

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
    publish,
    publishSoon: (db, topics) => enqueueAfterCommit(db, topics, sendSoon),
    toOne: (topic) => (readiness.get(topic)?.() === true ? withDetail(topic, id) : topic),
    publishToOne(db, topic) {
      if (readiness.get(topic)?.() === true) afterCommit(db, () => emitter.emit(topic, id, ''))
      else publish(db, topic)
    },
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
      question[Symbol.dispose]()
      clearTimeout(reconnecting)
      // What has just been committed is published in the next turn.
      await nextTurn()
      queued.add(withDetail(LEFT, id))
      await sending
      send()
      await sending
      closed = true
      clearTimeout(retry)
      clearInterval(liveness)
      await client?.end()
    },
  }
}
