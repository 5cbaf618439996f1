import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject, test } from 'vitest'
import { createApp } from '../app.ts'
import { createTestApp } from '../testing/app.ts'
import { databaseUrl } from '../testing/database.ts'
import { allSignals } from '../testing/signals.ts'
import { announce } from './announce.ts'

const app = await createTestApp({ GROUNDSTATE_BASE_URL: 'https://groundstate.example' })

test('a server that stops sends its pending notices before it disconnects from the database', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const place = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const options = { baseUrl: app.baseUrl, databaseUrl: place, log, runsJobs: false, reactions: [] }
  const stopping = await createApp(app.config, options)
  const received: string[] = []
  using _ = app.changes.listen(({ id }) => received.push(id))
  const of = { organization: 'org-a', type: 'logs', workspace: 'ws-a', run: 'run-a' } as const

  for (const id of ['first', 'second', 'second']) announce(stopping, { ...of, id })
  await stopping[Symbol.asyncDispose]()

  await allSignals(app)
  expect(received).toEqual(['first', 'second'])
  expect(lines).toEqual([])
})

test('a notice for many teams is split', async () => {
  const teams = Array.from({ length: 250 }, (_, index) => `team-${String(index).padStart(16, '0')}`)
  const notices: (readonly string[])[] = []
  using _ = app.changes.listen(({ teams }) => notices.push(teams ?? []))

  announce(app, { organization: 'org-b', type: 'projects', id: 'prj-b', teams })
  await allSignals(app)

  expect(notices.map(({ length }) => length)).toEqual([100, 100, 50])
  expect(notices.flat()).toEqual(teams)
})
