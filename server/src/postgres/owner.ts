import { setTimeout as pause } from 'node:timers/promises'
import { type Claim, tryClaim } from '@groundstate/agent/process/claim'
import pg from 'pg'
import type { Site } from './binaries.ts'
import { SUPERUSER } from './cluster.ts'
import { POLL, createSlowNotice, readPostmaster } from './postmaster.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** Id of an advisory lock, arbitrary but constant. */
const LOCK = 7_777_001

/** Time that the session of a killed owner may take to end, in ms. */
const LOCK_TIMEOUT = 1_000

const DATABASE = 'groundstate'

/** Maximum time to wait for the PostgreSQL of a killed server in another container to stop, in ms. */
const STOP_TIMEOUT = 120_000

/** Connection string of our database for `pg` and libpq. PGSSLMODE of the environment must not apply to the socket. */
export function connectionString(socketDirectory: string) {
  return `postgresql://${SUPERUSER}@localhost/${DATABASE}?host=${encodeURIComponent(socketDirectory)}&sslmode=disable`
}

/** Connects to the maintenance database; undefined while PostgreSQL accepts no connections. */
export async function connect(socketDirectory: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    host: socketDirectory,
    port: 5432,
    user: SUPERUSER,
    database: 'postgres',
    ssl: false,
    application_name: `groundstate owner ${process.pid}`,
  })
  // Without a listener, a later error would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    if (isConnectionLost(error)) return undefined
    throw error
  }
}

/** Whether an error means that PostgreSQL is starting, stopping or not running. */
export function isConnectionLost(error: unknown) {
  if (error instanceof PostgresUnavailable) return false
  const { code } = error as { code?: string }
  // 57P03 means "starting up" or "shutting down". An error without a code means that the connection was interrupted.
  return code === undefined || ['57P03', '57P01', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code)
}

/**
 * Makes this process the only one that starts PostgreSQL on the directory until the claim is disposed of. PostgreSQL itself does not notice one that
 * another container starts or stops on a shared volume at the same time: both would write. Waits for one that stops. Throws `PostgresUnavailable`.
 */
export async function claimHome({ directories, dataDir, log }: Site): Promise<Claim> {
  const started = performance.now()
  let deadline = started + LOCK_TIMEOUT
  const noteSlowness = createSlowNotice(log, 'waiting for the PostgreSQL of another container to stop')
  for (;;) {
    const attempt = await tryClaim(directories.home, 'server')
    if (attempt?.claim) return attempt.claim
    const now = performance.now()
    const isStopping = (await readPostmaster(directories.cluster))?.status === 'stopping'
    if (isStopping && now < started + STOP_TIMEOUT) deadline = now + LOCK_TIMEOUT
    if (attempt && now > deadline) throw inUse(dataDir, attempt.owner)
    noteSlowness()
    await pause(POLL * 4)
  }
}

/**
 * Makes this process the only owner of a running PostgreSQL, also towards versions that make no claims. Unlike a lock file, the lock ends with the
 * session, so a killed process leaves nothing to clean up.
 */
export async function lock(client: pg.Client, dataDir: string) {
  const deadline = performance.now() + LOCK_TIMEOUT
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK])
    if (rows[0]?.locked) return
    if (performance.now() > deadline) break
    await pause(POLL * 4)
  }
  throw inUse(dataDir, await findOwner(client))
}

function inUse(dataDir: string, owner: string | undefined) {
  const server = `another Groundstate server${owner === undefined ? '' : ` (${owner})`}`
  return new PostgresUnavailable(`the data directory ${dataDir} is in use by ${server}`, {
    remedy: 'stop it first, or set another GROUNDSTATE_DATA_DIR',
  })
}

/** Waits until a process that just started PostgreSQL had time to take the lock. */
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
  return pid ? `process ${pid}` : undefined
}
