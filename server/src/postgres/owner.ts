import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { SUPERUSER } from './cluster.ts'
import { POLL } from './postmaster.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** Any constant will do: it only has to be the same in every process that opens the data folder. */
const LOCK = 7_777_001

/** How long a killed owner's session may take to end, in ms. */
const LOCK_PATIENCE = 1_000

const DATABASE = 'groundstate'

/** Names our database for `pg` and libpq; the environment's PGSSLMODE is not about this socket. */
export function connectionString(socketFolder: string) {
  return `postgresql://${SUPERUSER}@localhost/${DATABASE}?host=${encodeURIComponent(socketFolder)}&sslmode=disable`
}

/** A session on the maintenance database; undefined while PostgreSQL does not accept connections. */
export async function connect(socketFolder: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    host: socketFolder,
    port: 5432,
    user: SUPERUSER,
    database: 'postgres',
    ssl: false,
    application_name: `groundstate owner ${process.pid}`,
  })
  // Without a listener an error after the connection attempt would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    if (isCutOff(error)) return undefined
    throw error
  }
}

/** Whether PostgreSQL starts, stops or is gone: it refuses or cuts connections then. */
export function isCutOff(error: unknown) {
  if (error instanceof PostgresUnavailable) return false
  const { code } = error as { code?: string }
  // 57P03 is "starting up" or "shutting down"; without a code the connection was cut while it was used.
  return code === undefined || ['57P03', '57P01', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code)
}

/**
 * Makes this process the data folder's only owner. The lock lives as long as the session: a killed process loses it with
 * its connection, so nothing is left to clean up, and it also holds between containers that share a volume. A lock file
 * can do neither.
 */
export async function lock(client: pg.Client, dataDir: string) {
  const deadline = performance.now() + LOCK_PATIENCE
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK])
    if (rows[0]?.locked) return
    if (performance.now() > deadline) break
    await pause(POLL * 4)
  }
  throw new PostgresUnavailable(`the data folder ${dataDir} is in use by ${await findOwner(client)}`, {
    remedy: 'stop that one first, or give this one its own GROUNDSTATE_DATA_DIR',
  })
}

/** Gives the process that has just started PostgreSQL the time to take the lock. */
export async function waitForStarter(client: pg.Client) {
  await client.query(
    `select pg_sleep(greatest(0, extract(epoch from pg_postmaster_start_time() + interval '1 s' - now())))`,
  )
}

export async function createDatabase(client: pg.Client) {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
  if (rowCount === 0) await client.query(`create database ${DATABASE}`)
}

async function findOwner(client: pg.Client) {
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objid = $1::bigint::oid and granted`,
    [LOCK],
  )
  const pid = rows[0]?.application_name.replace('groundstate owner ', '')
  return pid ? `another Groundstate server (process ${pid})` : 'another Groundstate server'
}
