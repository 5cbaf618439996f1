import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { createApp } from '../app.ts'
import { createTestApp } from '../testing/app.ts'
import { databaseUrl } from '../testing/database.ts'
import { throttledTouch } from './throttled-touch.ts'

const app = await createTestApp()

test('pending touches are stored when the server stops', async () => {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const place = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const options = { baseUrl: app.baseUrl, databaseUrl: place, log: app.log, runsJobs: false, reactions: [] }
  const stopping = await createApp(app.config, options)
  const stored: (readonly string[])[] = []
  const note = throttledTouch(async (ctx, ids) => {
    await sql`select 1`.execute(ctx.db)
    stored.push(ids)
  }, 'what a test has seen')

  for (const id of ['first', 'second', 'third', 'second']) await note(stopping, id)
  await stopping[Symbol.asyncDispose]()

  expect(stored).toEqual([['first'], ['second', 'third']])
})
