import { randomBytes } from 'node:crypto'
import { type Transaction, sql } from 'kysely'
import pg from 'pg'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a database from which others can be created, and the name of the migrated template. */
    postgres: { adminUrl: string; template: string }
    /** Temporary directory, deleted after the test run, even if it is killed. */
    directory: string
  }
}

/** The database of one test file. Disposing drops it, even with open connections. */
export type TestDatabase = AsyncDisposable & { url: string }

/** Clones the migrated template. Only for test files, since setup files cannot access values of the global setup. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { adminUrl, template } = inject('postgres')
  const name = `groundstate_test_${randomBytes(8).toString('hex')}`
  await execute(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  return {
    url: databaseUrl(adminUrl, name),
    async [Symbol.asyncDispose]() {
      await execute(adminUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** The URL of another database with the same server and user. */
export function databaseUrl(adminUrl: string, name: string) {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Runs one statement on a separate connection. */
export async function execute(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Lets a transaction be idle for as long as its test waits: the database ends those of servers after five seconds. */
export async function allowIdle(tx: Transaction<any>) {
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
}
