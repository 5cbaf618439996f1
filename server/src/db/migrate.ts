import type pg from 'pg'
import { MIGRATIONS } from '../../migrations/list.ts'
import { StartError } from '../start-error.ts'
import { connectDatabase, databaseName } from './connect.ts'

/** Any number that no other program locks in this database. */
const MIGRATION_LOCK = 7_077_001

export class MigrationError extends StartError {}

/**
 * Brings the database at `url` to this server's schema, one process at a time under an advisory lock. Each migration is
 * one transaction. Throws a `MigrationError` when the database has migrations that this server does not know: it is
 * older than the database, and must not write to it. `afterwards` runs under the same lock.
 */
export async function migrate(
  url: string,
  afterwards?: (client: pg.Client) => Promise<void>,
): Promise<{ applied: string[] }> {
  const client = await connectDatabase(url, 'groundstate-migrate')
  try {
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`)
    await client
      .query(
        `create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())`,
      )
      .catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause)
        throw new MigrationError(`can't make tables in the database ${databaseName(client)}: ${reason}`, { cause })
      })
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations')
    const done = new Set(rows.map((row) => row.name))
    const known = new Set<string>(MIGRATIONS.map((migration) => migration.name))
    const unknown = [...done].filter((name) => !known.has(name)).toSorted()
    if (unknown.length > 0) {
      throw new MigrationError(
        `the database was migrated by a newer version of Groundstate (it has ${unknown.join(', ')})`,
        { advice: 'start that version' },
      )
    }
    const applied: string[] = []
    for (const migration of MIGRATIONS) {
      if (done.has(migration.name)) continue
      await client.query('begin')
      try {
        await client.query(migration.up)
        await client.query('insert into schema_migrations (name) values ($1)', [migration.name])
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw new MigrationError(`migration ${migration.name} failed: ${String(error)}`, { cause: error })
      }
      applied.push(migration.name)
    }
    await afterwards?.(client)
    return { applied }
  } finally {
    await client.end()
  }
}
