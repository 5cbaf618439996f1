import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { conflict } from '../errors.ts'
import { createTestApp } from '../testing/app.ts'
import { isDefinitelyRejected, transact, type Tx } from './db.ts'

const app = await createTestApp()

test.each<[string, boolean, (tx: Tx) => Promise<unknown>]>([
  ['a value that the database rejects', true, (tx) => sql`select 'x'::int`.execute(tx)],
  ['an application error', true, async () => Promise.reject(conflict('no'))],
  ['a terminated session', false, (tx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx)],
  ['a bug', false, async () => Promise.reject(new TypeError('x is undefined'))],
])('a transaction that is ended by %s is definitely rejected: %s', async (_, refused, work) => {
  const error: unknown = await transact(app.as(), async (ctx) => work(ctx.db)).catch((error: unknown) => error)

  expect(isDefinitelyRejected(error)).toBe(refused)
})
