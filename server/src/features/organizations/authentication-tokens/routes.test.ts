import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import { createUserToken, issueToken } from '../../identity/tokens/service.ts'
import { createOrganizationToken, createTeamToken } from './service.ts'

let app: TestApp
let owner: TestUser
let stranger: TestUser
let organization: { id: string; name: string }
let ownersId: string
beforeAll(async () => {
  app = await createTestApp()
  owner = await createUser(app)
  stranger = await createUser(app)
  organization = await createOrganization(app, owner)
  ownersId = (await app.db.selectFrom('teams').select('id').executeTakeFirstOrThrow()).id
})

async function poolId() {
  const id = app.newId('apool')
  await app.db
    .insertInto('agent_pools')
    .values({ id, organization_id: organization.id, name: id, created_at: app.now() })
    .execute()
  return id
}

const ctx = () => app.as(owner.actor)
const MAKERS = {
  user: async () => createUserToken(ctx(), owner.id, { description: 'one' }),
  team: async () => createTeamToken(ctx(), ownersId, { description: app.newId('name') }),
  organization: async () => createOrganizationToken(ctx(), organization.name, { kind: 'organization' }),
  'audit-trails': async () => createOrganizationToken(ctx(), organization.name, { kind: 'audit-trails' }),
  agent: async () =>
    issueToken(
      ctx(),
      { kind: 'agent', organization_id: organization.id, agent_pool_id: await poolId() },
      { description: 'one' },
    ),
}

const send = (method: 'GET' | 'DELETE', id: string, token?: string) =>
  app.request({ method, url: `/api/v2/authentication-tokens/${id}`, token })

describe.each(Object.entries(MAKERS))('a token of the kind %s', (kind, make) => {
  test('is shown without its secret, and revoked immediately, for authorised callers', async () => {
    const { token, text } = await make()

    const shown = await send('GET', token.id, owner.token)
    const ended = await send('DELETE', token.id, owner.token)

    expect(shown.status).toBe(200)
    expect(shown.json().data).toMatchObject({ id: token.id, attributes: { token: null } })
    expect(shown.json().data.relationships['created-by'].data.id).toBe(owner.id)
    expect(ended.status).toBe(204)
    expect((await send('GET', token.id, owner.token)).status).toBe(404)
    expect((await app.request({ url: '/api/v2/account/details', token: text })).status).toBe(401)
  })

  test('does not exist for others', async () => {
    const { token } = await make()

    const unknown = await send('DELETE', 'at-unknown', stranger.token)
    const others = await Promise.all([send('DELETE', token.id, stranger.token), send('GET', token.id, stranger.token)])

    for (const response of others) {
      expect(response.status).toBe(404)
      expect(response.json()).toEqual(unknown.json())
    }
    expect((await send('DELETE', token.id)).status).toBe(401)
    expect((await send('GET', token.id, owner.token)).status).toBe(200)
    expect(kind).toBe(token.kind)
  })
})

test("a run's token is not visible to any caller", async () => {
  const { workspaceId } = await addWorkspace(app, { user: owner, organization: organization.name })
  const runId = await createRun(app, { user: owner, workspaceId })
  const subject = { kind: 'run', organization_id: organization.id, run_id: runId, workspace_id: workspaceId } as const
  const { token } = await issueToken(ctx(), subject, {})

  expect((await send('GET', token.id, owner.token)).status).toBe(404)
})
