import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { type Migration, MIGRATIONS } from '../../migrations/list.ts'
import { codeOf, messageOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import { connectDatabase, databaseName } from './connect.ts'
import { LIVE_SERVERS } from './sessions.ts'

/** Id of an advisory lock, arbitrary but constant. */
const MIGRATION_LOCK = 7_077_001

/** Conflict with a transaction of a running server: a deadlock or a lock timeout. */
const RETRYABLE = /^(?:40P01|55P03)$/

/** Short, since other queries on the table wait behind a migration that waits for its lock. */
const LOCK_TIMEOUT_MS = 3000
const PAUSE_MS = 1000
const ATTEMPTS = 10

export class MigrationError extends StartError {}

type Options = {
  migrations?: readonly Migration[]
  /** Runs at the end, under the same lock. */
  afterwards?: (client: pg.Client) => Promise<void>
  /** Called for each failed attempt that is repeated. */
  warn?: (line: string) => void
  lockTimeoutMs?: number
  pauseMs?: number
  attempts?: number
}

/**
 * Migrates the database at `url` to this server's schema, under an advisory lock. Each migration, or batch of one, is a transaction, which is
 * repeated while running servers hold its locks. Throws a `MigrationError` if this server must not use the database (`checkMigrations`), if running
 * servers cannot use it any more, or if it lacks an extension.
 */
export async function migrate(url: string, options: Options = {}): Promise<{ applied: string[] }> {
  const { migrations = MIGRATIONS } = options
  const client = await connectDatabase(url, 'groundstate-migrate')
  try {
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`)
    await create(client, 'tables', CREATE_TABLE)
    const found = await listApplied(client)
    checkMigrations(found, migrations)
    const done = new Set(found.map(({ name }) => name))
    await create(client, 'the extension pg_trgm', 'create extension if not exists pg_trgm', EXTENSION_ADVICE)
    const applied: string[] = []
    for (const migration of migrations) {
      if (done.has(migration.name)) continue
      await requireNewServers(client, migration)
      await apply(client, migration, options)
      applied.push(migration.name)
    }
    await options.afterwards?.(client)
    return { applied }
  } finally {
    await client.end()
  }
}

const CREATE_TABLE =
  'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())'

const EXTENSION_ADVICE =
  'it comes with the contrib modules of PostgreSQL, and an administrator can create it: create extension pg_trgm'

async function create(client: pg.Client, what: string, statement: string, advice?: string) {
  await client.query(statement).catch((cause: unknown) => {
    throw new MigrationError(`can't create ${what} in the database ${databaseName(client)}: ${messageOf(cause)}`, {
      cause,
      ...(advice !== undefined && { advice }),
    })
  })
}

/** The migrations were consolidated before the first release, so databases of earlier versions cannot be migrated. */
const MOVE_STATES =
  'to move its states, start the version that created it, and export the states of each organization with the `groundstate` of that version ' +
  '(node_modules/.bin/groundstate in a clone): `groundstate state export --url … --token … --organization … --folder …`; then start this ' +
  'version with a new data directory or database, and import them: `groundstate state import --url … --token … --organization … --directory …`. ' +
  'Variables, members and runs stay behind. /docs/operations of a server has the steps'

/** A migration of the database. `requires`: see `Migration`. */
export type AppliedMigration = { name: string; requires: string | null }

/** The migrations of a database whose table of them exists. */
export async function listApplied(client: pg.Client): Promise<AppliedMigration[]> {
  // Databases of earlier versions do not have the column.
  const { rows } = await client.query<AppliedMigration>(
    `select name, to_jsonb(m) ->> 'requires' as requires from schema_migrations m`,
  )
  return rows
}

/**
 * Throws a `MigrationError` if the migrations `done` are incompatible: the first one is missing (a database from before the first release), or
 * there are migrations of a newer server that removed something which this one uses. Other unknown migrations are accepted.
 */
export function checkMigrations(
  done: readonly AppliedMigration[],
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const [first] = migrations
  const [actual] = done.map(({ name }) => name).toSorted()
  if (first !== undefined && actual !== undefined && !done.some(({ name }) => name === first.name)) {
    throw new MigrationError(
      `the database was created by an earlier version of Groundstate and can't be migrated (it has ${actual} instead of ${first.name})`,
      { advice: MOVE_STATES },
    )
  }
  const known = new Set(migrations.map(({ name }) => name))
  const breaking = done.filter(({ name, requires }) => !known.has(name) && requires !== null && !known.has(requires))
  if (breaking.length > 0) {
    const names = breaking.map(({ name }) => name).toSorted()
    throw new MigrationError(
      `the database was migrated by a newer version of Groundstate, with which this one can't run (it has ${names.join(', ')})`,
      { advice: 'start that version' },
    )
  }
}

/** Throws a `MigrationError` if a running server still uses what the migration removes. */
async function requireNewServers(client: pg.Client, { name, requires }: Migration) {
  if (requires === undefined) return
  const { rows } = await client.query<{ id: string; version: string | null }>(
    `select l.id, s.version from ${LIVE_SERVERS} l left join servers s on s.id = l.id
      where s.id is null or s.migration < $1 order by l.id`,
    [requires],
  )
  if (rows.length === 0) return
  const servers = rows.map(({ id, version }) => `${id} (${version === null ? 'an old version' : `version ${version}`})`)
  throw new MigrationError(`migration ${name} removes what running servers use: ${servers.join(', ')}`, {
    advice: 'upgrade them to the previous release first, or stop them',
  })
}

async function record(client: pg.Client, { name, requires }: Migration) {
  if (requires === undefined) await client.query('insert into schema_migrations (name) values ($1)', [name])
  else await client.query('insert into schema_migrations (name, requires) values ($1, $2)', [name, requires])
}

async function apply(client: pg.Client, migration: Migration, options: Options) {
  const { warn, lockTimeoutMs = LOCK_TIMEOUT_MS, pauseMs = PAUSE_MS, attempts = ATTEMPTS } = options
  for (let attempt = 1; ; attempt += 1) {
    await client.query('begin')
    try {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
      const { rowCount } = await client.query(migration.up)
      const isDone = !migration.isBatched || rowCount === 0
      if (isDone) await record(client, migration)
      await client.query('commit')
      if (isDone) return
      attempt = 0
      continue
    } catch (error) {
      await client.query('rollback')
      const isRetryable = RETRYABLE.test(codeOf(error) ?? '')
      if (!isRetryable || attempt >= attempts) {
        const times = attempt > 1 ? ` ${attempt} times` : ''
        throw new MigrationError(`migration ${migration.name} failed${times}: ${String(error)}`, {
          cause: error,
          ...(isRetryable && { advice: 'stop the other servers and other sessions of the database' }),
        })
      }
      warn?.(`migration ${migration.name} waits for other sessions of the database: ${String(error)}`)
    }
    await pause(pauseMs)
  }
}
