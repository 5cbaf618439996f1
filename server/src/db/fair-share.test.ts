import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { whenFileEnds } from '../testing/cleanup.ts'
import { execute } from '../testing/database.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../testing/factories.ts'

let databaseUrl = ''
const reach = async (url: string) => (databaseUrl = url)
const app = await createTestApp({ GROUNDSTATE_DATABASE_POOL_SIZE: '4' }, { reach })
const operator = new pg.Client(databaseUrl)
await operator.connect()
whenFileEnds(() => operator.end())

async function newWorkspace(user: TestUser) {
  const { name } = await createOrganization(app, user)
  return (await createWorkspace(app, { organization: name, actor: user.actor })).id
}

async function describeWorkspace(id: string, token: string) {
  const body = { data: { type: 'workspaces', attributes: { description: 'changed' } } }
  return app.request({ method: 'PATCH', url: `/api/v2/workspaces/${id}`, token, body })
}

async function lock(id: string, token: string) {
  return app.request({ method: 'POST', url: `/api/v2/workspaces/${id}/actions/lock`, token, body: {} })
}

async function newToken({ id, token }: TestUser): Promise<string> {
  const response = await app.request({ method: 'POST', url: `/api/v2/users/${id}/authentication-tokens`, token })
  return response.json().data.attributes.token
}

async function waitsForLocks() {
  const { rows } = await execute(
    databaseUrl,
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

test.each([
  ['in transactions', describeWorkspace],
  ['in one statement', lock],
])('changes of one account, with any token, leave connections to others: %s', async (_, send) => {
  const [ada, bob] = [await createUser(app), await createUser(app)]
  const tokens = [ada.token, await newToken(ada)]
  const [locked, own] = [await newWorkspace(ada), await newWorkspace(bob)]
  await operator.query('begin')
  await operator.query('select from workspaces where id = $1 for update', [locked])

  const changes = Array.from({ length: 6 }, () => tokens.map((token) => send(locked, token))).flat()
  await vi.waitFor(async () => expect(await waitsForLocks()).toBeGreaterThan(2))
  const change = await send(own, bob.token)
  const read = await app.request({ url: `/api/v2/workspaces/${locked}`, token: ada.token })
  const waiting = await waitsForLocks()
  await operator.query('commit')

  expect([change.status, read.status, waiting]).toEqual([200, 200, 3])
  expect((await Promise.all(changes)).map(({ status }) => status)).toContain(200)
})
