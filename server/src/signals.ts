import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { connectionOptions } from './database-address.ts'
import { DATABASE_TIMEOUT_MS, type Db, afterCommit, isUnavailable } from './db/db.ts'
import { LIVE_SERVERS, SIGNALS_SESSION } from './db/sessions.ts'
import { type Log, loggedError } from './log.ts'
import type { Polls } from './polls.ts'
import { ACCEPTED_LOCK } from './secrets/mark.ts'
import { StartError } from './start-error.ts'

const CHANNEL = 'groundstate'
const RECONNECT_MS = 1000
/** Interval of checks of the connection, in ms. */
const LIVENESS_MS = 10_000
/** Debounce time of `publishSoon`, in ms. */
const DEBOUNCE_MS = 50
const MAX_BATCH = 1000
/** Maximum number of queued topics while the database is unreachable; more are dropped and reported as a gap. */
const MAX_QUEUED = 20_000

/** Topics of this module: a server has started, has stopped, or has lost signals. */
const JOINED = 'server-joined'
const LEFT = 'server-left'
const LOST = 'signals-lost'

const POOL_SESSION = 'groundstate'

/** The database ends the session of a host that lost its power or network within 30 s, since a server counts as running while it has one. */
const KEEP_ALIVE = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4'

const NOTIFY = `select pg_notify('${CHANNEL}', $1 || ' ' || topic) from unnest($2::text[]) as topic`

/**
 * Ids of the servers that have a listening connection or a statement that may still commit. Idle pooled sessions do not count: a pooler
 * keeps those of dead servers.
 */
const SERVERS = sql<string[]>`array(select distinct split_part(application_name, ' ', 2) from pg_stat_activity
  where datname = current_database()
    and (application_name like ${`${SIGNALS_SESSION} %`}
      or (application_name like ${`${POOL_SESSION} %`} and length(application_name) = ${sql.lit(POOL_SESSION.length + 37)} and state <> 'idle')))`

type ServerSession = { id: string; address: string | null; connected_at: Date }

/** A server that is connected to the database. The other properties are null for servers of versions before the table `servers`. */
export type ConnectedServer = ServerSession & {
  version: string | null
  role: 'all' | 'api' | 'worker' | null
  started_at: Date | null
}

/** First key of an advisory lock; the second is the id of a secret, and the holders are the listening connections of the servers that seal with it. */
const SECRET_LOCK = 7_077_002

/** The servers that seal with another secret than the one with this id, or with an unknown one. */
export async function listServersWithOtherSecret(db: Db, secretId: number): Promise<ServerSession[]> {
  const { rows } = await sql<ServerSession>`
    select split_part(application_name, ' ', 2) as id, host(client_addr) as address, backend_start as connected_at
      from pg_stat_activity a
     where datname = current_database() and application_name like ${`${SIGNALS_SESSION} %`}
       and not exists (select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.objsubid = 2
         and l.classid = ${SECRET_LOCK} and l.objid::bigint = ${secretId >>> 0}::bigint)
     order by backend_start, id limit 100`.execute(db)
  return rows
}

/** The servers with a listening connection, the oldest first. */
export async function listServers(db: Db): Promise<ConnectedServer[]> {
  const { rows } = await sql<ConnectedServer>`
    select l.id, l.address, l.connected_at, s.version, s.role, s.started_at
      from ${sql.raw(LIVE_SERVERS)} l left join servers s on s.id = l.id order by l.connected_at, l.id limit 100`.execute(
    db,
  )
  return rows
}

/** Application name of a server's pooled sessions, by which other servers see whether one of its transactions is still open. */
export function poolSessionName(serverId: string) {
  return `${POOL_SESSION} ${serverId}`
}

export type Signals = Awaited<ReturnType<typeof createSignals>>

/** Keeps a server from a database whose secret, blob store or base URL was replaced while it had no connection. */
export type Fence = {
  /** Called with each new connection. Throws a `StartError` if this server may not use the database any more. */
  admit: (client: pg.Client) => Promise<void>
  /** Called if another connection than the first is refused. The server must not write any more. */
  onRefused: (error: StartError) => void
}

type SignalOptions = Partial<Fence> & {
  /** Unique among all servers of the database. */
  id: string
  polls: Polls
  log?: Log
  /** Ids of the secrets that this server has, as signed integers: first the one with which it seals. */
  secretIds?: readonly number[]
}

type WaitOptions = { timeoutMs: number; signal?: AbortSignal | undefined }

/** One topic, several, or a function that finds them after the commit. */
type Topics = string | readonly string[] | (() => Promise<readonly string[]>)

/** A topic with a detail, to be published. */
export function withDetail(topic: string, detail: string) {
  return `${topic} ${detail}`
}

/**
 * Signals wake waiters on every replica through LISTEN/NOTIFY, in the same order everywhere. A signal is a hint: it is lost while the
 * connection is down, so every waiter polls as well, or resets on `onGap`. A topic contains no blank; a detail of up to 7000 bytes may follow.
 *
 * A server sends the signals of a transaction after the commit, on a separate connection: a transaction that notifies locks the whole
 * database until its commit is on disk. The signals of a server that is killed in between are lost. The others notice that it disappeared
 * without a LEFT signal, and call `onGap`.
 */
export async function createSignals(url: string, { id, polls, log, secretIds = [], admit, onRefused }: SignalOptions) {
  const emitter = new EventEmitter().setMaxListeners(0)
  const gaps = new EventEmitter().setMaxListeners(0)
  const readiness = new Map<string, () => boolean>()
  /** The other running servers. */
  const peers = new Set<string>()
  let queued = new Set<string>()
  let batches = 0
  let client: pg.Client | undefined
  let liveness: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined
  let debounce: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let closed = false

  async function connect() {
    const next = new pg.Client({
      ...connectionOptions(url),
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
    // Signals are hints: they may be lost or repeated after a crash of the database.
    await next.query(`set synchronous_commit = off; ${KEEP_ALIVE}; listen ${CHANNEL}`)
    const sealing = secretIds.slice(0, 1)
    await next.query('select pg_advisory_lock_shared($1, id) from unnest($2::int[]) as id', [SECRET_LOCK, sealing])
    await next.query('select pg_advisory_lock_shared($1, id) from unnest($2::int[]) as id', [ACCEPTED_LOCK, secretIds])
    try {
      // While it has the connection, so that a command that replaces something afterwards sees this server.
      await admit?.(next)
    } catch (error) {
      await next.end().catch(() => {})
      throw error
    }
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

  /** Awaits a query; closes the connection if there is no response in time. */
  async function limited<T>(connection: pg.Client, query: Promise<T>) {
    const timer = setTimeout(() => connection.connection.stream.destroy(), DATABASE_TIMEOUT_MS).unref()
    return query.finally(() => clearTimeout(timer))
  }

  async function checkLiveness(connection: pg.Client) {
    await limited(connection, connection.query('select')).catch(() => {})
    send()
  }

  function send() {
    clearTimeout(debounce)
    debounce = undefined
    if (retry) return
    sending ??= sendQueued().finally(() => {
      sending = undefined
    })
  }

  /** Topics that a connection failed to send are sent by the next one. */
  async function sendQueued() {
    // Topics published in the same turn are sent together.
    await nextTurn()
    for (let connection = client; connection && queued.size > 0; connection = client) {
      const topics = [...queued].slice(0, MAX_BATCH)
      for (const topic of topics) queued.delete(topic)
      batches += 1
      const values = [`${id}-${batches}`, topics]
      try {
        await limited(connection, connection.query({ name: 'notify', text: NOTIFY, values }))
      } catch (error) {
        const isRejected = error instanceof pg.DatabaseError && !isUnavailable(error)
        queued = new Set([...(isRejected ? [LOST] : topics), ...queued])
        if (!isRejected) return
        log?.error({ err: loggedError(error) }, 'sending signals')
        // The notification queue may be full because of another session, so more attempts would fail as well.
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

  function publishWith(flush: () => void, db: Db, topics: Topics) {
    const publishAll = (found: readonly string[]) => {
      enqueue(found)
      flush()
    }
    if (typeof topics === 'function') {
      // If the response to the COMMIT was lost, the results of `topics` may be lost as well.
      afterCommit(db, () => void topics().then(publishAll, () => publishAll([LOST])))
      return
    }
    const list = typeof topics === 'string' ? [topics] : topics
    if (list.length > 0) afterCommit(db, () => publishAll(list))
  }

  function sendSoon() {
    debounce ??= setTimeout(send, DEBOUNCE_MS).unref()
  }

  function publish(db: Db, topics: Topics) {
    publishWith(send, db, topics)
  }

  function onServers(present: string[]) {
    const lost = [...peers].filter((peer) => !present.includes(peer))
    for (const peer of lost) peers.delete(peer)
    for (const peer of present) if (peer !== '' && peer !== id) peers.add(peer)
    if (lost.length > 0) gaps.emit('gap')
  }

  async function reconnect() {
    await connect()
    if (!closed) gaps.emit('gap')
  }

  function scheduleReconnect() {
    const onFailure = (error: unknown) => {
      if (closed) return
      if (error instanceof StartError) onRefused?.(error)
      else scheduleReconnect()
    }
    reconnecting = setTimeout(() => void reconnect().catch(onFailure), RECONNECT_MS).unref()
  }

  await connect()
  const polled = polls.add({ query: () => SERVERS, onValue: onServers })

  function subscribe(topic: string) {
    let published = false
    let wake: (() => void) | undefined
    const onSignal = () => {
      published = true
      wake?.()
    }
    emitter.on(topic, onSignal)
    return {
      /** Like `wait`. Resolves immediately if the topic was published since the subscription or the last `next`. */
      async next({ timeoutMs, signal }: WaitOptions) {
        if (!published && timeoutMs > 0 && !signal?.aborted) {
          await new Promise<void>((resolve) => {
            const end = () => {
              clearTimeout(timer)
              signal?.removeEventListener('abort', end)
              wake = undefined
              resolve()
            }
            const timer = setTimeout(end, timeoutMs)
            // Removed in `end`, since an abort signal may outlive many waits.
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
    /** The id of this process. */
    id,
    /** Publishes topics after the transaction of `db` commits; immediately outside of a transaction. */
    publish,
    /** Like `publish`, but debounced: within 50 ms, and equal topics once. */
    publishSoon: (db: Db, topics: Topics) => publishWith(sendSoon, db, topics),
    /** Addresses the topic to this process alone if it has a listener that is ready; the result can be published. */
    toOne: (topic: string) => (readiness.get(topic)?.() === true ? withDetail(topic, id) : topic),
    /** Like `publish`, but to this process alone, bypassing the database, if it has a listener that is ready. */
    publishToOne(db: Db, topic: string) {
      if (readiness.get(topic)?.() === true) afterCommit(db, () => emitter.emit(topic, id, ''))
      else publish(db, topic)
    },
    /** Resolves to true when `topic` is published, to false after `timeoutMs` or on the abort. */
    async wait(topic: string, options: WaitOptions) {
      using subscription = subscribe(topic)
      return await subscription.next(options)
    },
    /** Subscribes to `topic`. A caller that subscribes before it reads misses nothing that is published in between. */
    subscribe,
    /**
     * Calls `listener` with the detail whenever `topic` is published, until disposed. `batch` identifies the signals that were sent together, on
     * all replicas. `isReady` enables `toOne` and `publishToOne`, for which the detail is the id of the addressed process.
     */
    listen(topic: string, listener: (detail: string, batch: string) => void, isReady?: () => boolean): Disposable {
      emitter.on(topic, listener)
      if (isReady) readiness.set(topic, isReady)
      return {
        [Symbol.dispose]() {
          emitter.off(topic, listener)
          if (isReady && readiness.get(topic) === isReady) readiness.delete(topic)
        },
      }
    },
    /** Calls `listener` when signals may have been lost, until disposed. */
    onGap(listener: () => void): Disposable {
      gaps.on('gap', listener)
      return { [Symbol.dispose]: () => void gaps.off('gap', listener) }
    },
    async [Symbol.asyncDispose]() {
      polled[Symbol.dispose]()
      clearTimeout(reconnecting)
      // Signals of a transaction that just committed are published in the next turn.
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
