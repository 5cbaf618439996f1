import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { execute } from '../testing/database.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../testing/factories.ts'
import { lockedWorkspace, rawState, upload } from '../testing/state-versions.ts'
import { createTeam, createTeamToken } from '../testing/teams.ts'

let databaseUrl = ''
const reach = async (url: string) => (databaseUrl = url)
const app = await createTestApp({ GROUNDSTATE_DATABASE_POOL_SIZE: '4' }, { reach })
const operator = new pg.Client(databaseUrl)
await operator.connect()
atEnd(() => operator.end())

async function newWorkspace(user: TestUser) {
  const organization = await createOrganization(app, user)
  const { id } = await createWorkspace(app, { organization: organization.name, actor: user.actor })
  return { id, organization }
}

type Change = (workspaceId: string, token: string) => Promise<{ status: number }>

const describeWorkspace: Change = (id, token) => {
  const body = { data: { type: 'workspaces', attributes: { description: 'changed' } } }
  return app.request({ method: 'PATCH', url: `/api/v2/workspaces/${id}`, token, body })
}

const lock: Change = (id, token) =>
  app.request({ method: 'POST', url: `/api/v2/workspaces/${id}/actions/lock`, token, body: {} })

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

/** Sends changes that wait for the workspace. Returns the statuses of another user's change and read, and how many connections wait then. */
async function whileLocked(workspaceId: string, send: () => Promise<{ status: number }>[]) {
  const bob = await createUser(app)
  const own = await newWorkspace(bob)
  await operator.query('begin')
  await operator.query('select from workspaces where id = $1 for update', [workspaceId])
  const changes = send()
  await vi.waitFor(async () => expect(await waitsForLocks()).toBe(3), { timeout: 10_000 })

  const change = await describeWorkspace(own.id, bob.token)
  const read = await app.request({ url: `/api/v2/workspaces/${own.id}`, token: bob.token })
  const waiting = await waitsForLocks()
  await operator.query('commit')

  expect((await Promise.all(changes)).map(({ status }) => status)).toContain(200)
  return [change.status, read.status, waiting]
}

const TIMES = Array.from({ length: 6 })

describe('connections are left to others by', () => {
  test.each([
    ['in transactions', describeWorkspace],
    ['in one statement', lock],
  ])('changes of one account, with any token, %s', async (_, change) => {
    const ada = await createUser(app)
    const tokens = [ada.token, await newToken(ada)]
    const { id } = await newWorkspace(ada)

    const others = await whileLocked(id, () => TIMES.flatMap(() => tokens.map((token) => change(id, token))))

    expect(others).toEqual([200, 200, 3])
  })

  test('changes with tokens of teams of one organization', async () => {
    const ada = await createUser(app)
    const { id, organization } = await newWorkspace(ada)
    const tokens: string[] = []
    for (const columns of TIMES.map(() => ({ manage_workspaces: true })))
      tokens.push(await createTeamToken(app, await createTeam(app, organization.id, { columns })))

    const others = await whileLocked(id, () => TIMES.flatMap(() => tokens.map((token) => describeWorkspace(id, token))))

    expect(others).toEqual([200, 200, 3])
  })

  test('uploads to signed URLs', async () => {
    const ada = await createUser(app)
    const { name } = await createOrganization(app, ada)
    const workspace = await lockedWorkspace(app, name, ada)
    const raw = rawState({ serial: 1 })
    const { attributes } = await workspace.create(raw, { state: undefined })

    const others = await whileLocked(workspace.id, () =>
      TIMES.map(async () => upload(app, attributes['hosted-state-upload-url'], raw)),
    )

    expect(others).toEqual([200, 200, 3])
  })
})
