import pg from 'pg'
import { connectionOptions } from '../database-address.ts'

/** Time without a response after which a connection is checked, in ms. */
const SILENT_MS = 10_000
/** Time limit of a statement through a pooler, which does not say which session executes it, in ms. */
const POOLED_LIMIT_MS = 300_000
/** Time limit of a check, in ms. */
const CHECK_TIMEOUT_MS = 5_000
/** Time for a response that is on its way when its session is found idle, in ms. */
const ARRIVAL_MS = 1_000

type Options = { url: string; isPooled: boolean; silentMs?: number; arrivalMs?: number }
type Client = pg.PoolClient & { processID?: number }
type Pending = { client: Client; since: number; idleSince?: number }

export type SilentConnections = Disposable & {
  /** Watches a connection until its statement has a response. */
  watch: (client: pg.PoolClient, response: Promise<unknown>) => void
}

/**
 * Ends connections that the network dropped silently, as after a failover or in a firewall that forgot them: otherwise their statements would
 * hang for a quarter of an hour, and soon all connections of the pool. A statement may take long, so another connection asks whether
 * the session still executes it.
 */
export function watchConnections({
  url,
  isPooled,
  silentMs = SILENT_MS,
  arrivalMs = ARRIVAL_MS,
}: Options): SilentConnections {
  const pending = new Set<Pending>()
  let isChecking = false

  async function check() {
    const now = performance.now()
    const silent = [...pending].filter(({ since }) => now - since >= (isPooled ? POOLED_LIMIT_MS : silentMs))
    if (silent.length === 0 || isChecking) return
    isChecking = true
    try {
      const active = isPooled ? new Set() : await activeSessions(url, silent)
      for (const statement of silent) {
        if (active.has(statement.client.processID)) delete statement.idleSince
        else statement.idleSince ??= performance.now()
        if (performance.now() - (statement.idleSince ?? Infinity) >= arrivalMs && pending.has(statement))
          void statement.client.end()
      }
    } catch {
      // The database cannot be reached, so this connection is no worse than another.
    } finally {
      isChecking = false
    }
  }
  const timer = setInterval(() => void check(), Math.min(silentMs, arrivalMs)).unref()

  return {
    watch(client, response) {
      const statement: Pending = { client, since: performance.now() }
      const settle = () => void pending.delete(statement)
      pending.add(statement)
      response.then(settle, settle)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** The sessions among those of the statements that execute something. */
async function activeSessions(url: string, statements: readonly Pending[]): Promise<ReadonlySet<unknown>> {
  const client = new pg.Client({
    ...connectionOptions(url),
    connectionTimeoutMillis: CHECK_TIMEOUT_MS,
    query_timeout: CHECK_TIMEOUT_MS,
    application_name: 'groundstate check',
  })
  client.on('error', () => {})
  await client.connect()
  try {
    const pids = statements.map(({ client }) => client.processID)
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where pid = any($1::integer[]) and state in ('active', 'fastpath function call')`,
      [pids],
    )
    return new Set(rows.map(({ pid }) => pid))
  } finally {
    await client.end()
  }
}
