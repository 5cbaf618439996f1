import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { type Migration, MIGRATIONS } from '../../migrations/list.ts'
import { codeOf } from '../error-code.ts'
import { StartError } from '../start-error.ts'
import { connectDatabase, databaseName } from './connect.ts'

/** Any number that no other program locks in this database. */
const MIGRATION_LOCK = 7_077_001

/** Lost to a transaction of a running server: a deadlock or a lock timeout. */
const RETRYABLE = /^(?:40P01|55P03)$/

/** Short, since all other queries on the table wait behind a migration that waits for its lock. */
const LOCK_TIMEOUT_MS = 3000
const PAUSE_MS = 1000
const ATTEMPTS = 10

export class MigrationError extends StartError {}

type Options = {
  migrations?: readonly Migration[]
  /** Runs at the end, under the same lock. */
  afterwards?: (client: pg.Client) => Promise<void>
  /** Called with a line for each attempt of a migration that failed because of other servers and is repeated. */
  warn?: (line: string) => void
  lockTimeoutMs?: number
  pauseMs?: number
  attempts?: number
}

/**
 * Migrates the database at `url` to this server's schema, one process at a time under an advisory lock. Each migration
 * is a transaction, or one for each batch, and is repeated when running servers hold its locks. Throws a `MigrationError` when the database
 * has migrations that this server does not know (`checkMigrations`), and where an extension is missing.
 */
export async function migrate(url: string, options: Options = {}): Promise<{ applied: string[] }> {
  const { migrations = MIGRATIONS } = options
  const client = await connectDatabase(url, 'groundstate-migrate')
  try {
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`)
    await client
      .query(
        `create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())`,
      )
      .catch((cause: unknown) => {
        throw new MigrationError(`can't make tables in the database ${databaseName(client)}: ${reasonOf(cause)}`, {
          cause,
        })
      })
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations')
    const done = new Set(rows.map((row) => row.name))
    checkMigrations([...done], migrations)
    await createExtension(client)
    const applied: string[] = []
    for (const migration of migrations) {
      if (done.has(migration.name)) continue
      await apply(client, migration, options)
      applied.push(migration.name)
    }
    await options.afterwards?.(client)
    return { applied }
  } finally {
    await client.end()
  }
}

/** Before the first release the migrations were consolidated into new ones, so nothing can migrate what the former ones made. */
const MOVE_STATES =
  'to move its states, start the version that made it, and export those of each organization with the `groundstate` of that version ' +
  '(node_modules/.bin/groundstate in a clone): `groundstate state export --url … --token … --organization … --folder …`; then start this ' +
  'version with a new data directory or database, and import them: `groundstate state import --url … --token … --organization … --directory …`. ' +
  'Variables, members and runs stay behind. docs/OPERATIONS.md has the steps'

/**
 * Throws a `MigrationError` when a database with the migrations `done` is not one of this version: it lacks the first of them, so an earlier
 * version made it before the first release, or it has unknown ones, so this server is older and must not write to it.
 */
export function checkMigrations(done: readonly string[], migrations: readonly Migration[] = MIGRATIONS) {
  const [first] = migrations
  const [found] = done.toSorted()
  if (first !== undefined && found !== undefined && !done.includes(first.name)) {
    throw new MigrationError(
      `the database was made by an earlier version of Groundstate and can't be migrated (it has ${found} in place of ${first.name})`,
      { advice: MOVE_STATES },
    )
  }
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = done.filter((name) => !known.has(name)).toSorted()
  if (unknown.length > 0) {
    throw new MigrationError(
      `the database was migrated by a newer version of Groundstate (it has ${unknown.join(', ')})`,
      { advice: 'start that version' },
    )
  }
}

/** The extension by which texts are found in the messages of runs. Throws a `MigrationError` where it is missing and can't be created. */
async function createExtension(client: pg.Client) {
  await client.query('create extension if not exists pg_trgm').catch((cause: unknown) => {
    throw new MigrationError(
      `can't create the extension pg_trgm in the database ${databaseName(client)}: ${reasonOf(cause)}`,
      {
        cause,
        advice:
          'it comes with the contrib modules of PostgreSQL, and an administrator can create it: create extension pg_trgm',
      },
    )
  })
}

function reasonOf(cause: unknown) {
  return cause instanceof Error ? cause.message : String(cause)
}

async function apply(client: pg.Client, migration: Migration, options: Options) {
  const { warn, lockTimeoutMs = LOCK_TIMEOUT_MS, pauseMs = PAUSE_MS, attempts = ATTEMPTS } = options
  for (let attempt = 1; ; attempt += 1) {
    await client.query('begin')
    try {
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
      const { rowCount } = await client.query(migration.up)
      const isDone = !migration.isBatched || rowCount === 0
      if (isDone) await client.query('insert into schema_migrations (name) values ($1)', [migration.name])
      await client.query('commit')
      if (isDone) return
      attempt = 0
      continue
    } catch (error) {
      await client.query('rollback')
      const isLost = RETRYABLE.test(codeOf(error) ?? '')
      if (!isLost || attempt >= attempts) {
        const times = attempt > 1 ? ` ${attempt} times` : ''
        throw new MigrationError(`migration ${migration.name} failed${times}: ${String(error)}`, {
          cause: error,
          ...(isLost && { advice: 'stop the other servers, or end what else is at work in the database' }),
        })
      }
      warn?.(`migration ${migration.name} waits for others at work in the database: ${String(error)}`)
    }
    await pause(pauseMs)
  }
}
