import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { createFakeAgent, type FakeAgent } from '../testing/fake-agent.ts'
import { createRun, createRunSetting, type RunSetting, runStatus } from '../testing/runs.ts'
import { lockedWorkspace, rawState } from '../testing/state-versions.ts'
import { createTransactionPooler } from '../testing/transaction-pooler.ts'

const AT_ONCE = 6

describe.each([
  ['with a single connection', async () => createTestApp({ GROUNDSTATE_DATABASE_POOL_SIZE: '1' })],
  [
    'behind a pooler in transaction mode',
    async () => createTestApp({}, { pool: (url) => createTransactionPooler(url, { size: 3 }) }),
  ],
])('%s', async (_, create) => {
  const app = await create()
  const agent = await createFakeAgent(app)

  test('concurrent runs complete', async () => {
    const settings = await Promise.all(Array.from({ length: AT_ONCE }, () => createRunSetting(app)))

    const runs = await Promise.all(settings.map((setting) => createRun(app, setting, { 'auto-apply': true })))
    await Promise.all(settings.map(() => work(agent)))
    await app.runJobs()

    expect(await statuses(app, settings, runs)).toEqual(Array(AT_ONCE).fill('applied'))
  })

  test('a new run wakes a waiting claim', async () => {
    const setting = await createRunSetting(app)
    const waiting = agent.claim({ waitMs: 15_000 })

    const run = await createRun(app, setting)

    const job = await waiting
    expect(job?.runId).toBe(run)
    await job?.finish({ hasChanges: false })
  })

  test('clients that store states concurrently all get a response, and one wins a serial', async () => {
    const ada = await createUser(app)
    const { name } = await createOrganization(app, ada)
    const workspaces = await Promise.all(Array.from({ length: AT_ONCE }, () => lockedWorkspace(app, name, ada)))
    const states = [1, 2].map((index) => rawState({ outputs: { index: `${index}` } }))

    const responses = await Promise.all(
      workspaces.flatMap((workspace) => states.map(async (raw) => workspace.post(raw))),
    )
    await app.runJobs()

    const counts = [201, 409].map((status) => responses.filter((response) => response.status === status).length)
    expect(counts).toEqual([AT_ONCE, AT_ONCE])
  })

  test('the locks of a server that hangs in a transaction are released within seconds', async () => {
    const timeout = await app.db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ timeout: string }>`
        select current_setting('idle_in_transaction_session_timeout') as timeout`.execute(tx)
      return rows[0]?.timeout
    })

    expect(timeout).toBe('5s')
  })
})

test('a server opens no more connections than its pool has, apart from the listening one', async () => {
  const app = await createTestApp({ GROUNDSTATE_DATABASE_POOL_SIZE: '3' })
  const ada = await createUser(app)

  await Promise.all(Array.from({ length: 40 }, () => app.request({ url: '/api/v2/organizations', token: ada.token })))

  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity where datname = current_database()`.execute(app.db)
  expect(rows[0]?.count).toBe(3 + 1)
})

/** Plans and applies the next run. */
async function work(agent: FakeAgent) {
  for (let phase = 0; phase < 2; phase += 1) {
    const job = await agent.claim({ waitMs: 10_000 })
    await job?.finish()
  }
}

async function statuses(app: TestApp, settings: readonly RunSetting[], runs: readonly string[]) {
  return Promise.all(runs.map(async (run, index) => settings[index] && runStatus(app, settings[index], run)))
}
