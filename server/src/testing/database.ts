import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** A database that may create others, and the name of the migrated one that they are cloned from. */
    postgres: { adminUrl: string; template: string }
  }
}

/** A database of its own for one test file. Disposing drops it, also under open connections. */
export type TestDatabase = AsyncDisposable & { url: string }

/**
 * Clones the migrated template, which takes a few hundredths of a second.
 *
 * Call it in the test file, not in a setup file: what it injects is provided by the run's global setup.
 */
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

/** The same server and user, another database. */
export function databaseUrl(adminUrl: string, name: string) {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
