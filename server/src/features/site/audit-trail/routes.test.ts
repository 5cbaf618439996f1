import { beforeAll, expect, test } from 'vitest'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { type TestApp, type TestResponse, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../../organizations/authentication-tokens/service.ts'

let app: TestApp
let owner: TestUser
let organization: { id: string; name: string }
let token: string
beforeAll(async () => {
  app = await createTestApp({ GROUNDSTATE_AUDIT_RETENTION_DAYS: '30' })
  owner = await createUser(app)
  organization = await createOrganization(app, owner)
  token = (await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'audit-trails' })).text
})

const trail = (query = '', bearer = token) =>
  app.request({ url: `/api/v2/organization/audit-trail${query}`, token: bearer })
const createTeam = (name: string) =>
  app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization.name}/teams`,
    token: owner.token,
    headers: { 'user-agent': 'test-client/1' },
    body: { data: { type: 'teams', attributes: { name } } },
  })

test('an event contains actor, action, resource, time, address and token', async () => {
  const response = await createTeam('audited')

  const [event] = (await trail()).json().data
  expect(event).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    version: '0',
    type: 'Resource',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    auth: {
      accessor_id: owner.id,
      description: owner.username,
      type: 'Client',
      impersonator_id: null,
      organization_id: organization.id,
      token_id: owner.actor.tokenId,
      token: null,
      address: '127.0.0.1',
      user_agent: 'test-client/1',
    },
    request: { id: response.headers['x-request-id'] },
    resource: {
      id: response.json().data.id,
      type: 'team',
      action: 'create',
      meta: { name: 'audited', changes: { name: 'audited' } },
    },
  })
})

test('an event names the token of a team, and the actors are all who have events', async () => {
  const team = (await createTeam('developers')).json().data.id
  await app.request({
    method: 'PATCH',
    url: `/api/v2/teams/${team}`,
    token: owner.token,
    body: { data: { attributes: { 'organization-access': { 'manage-teams': true } } } },
  })
  const created = await app.request({
    method: 'POST',
    url: `/api/v2/teams/${team}/authentication-tokens`,
    token: owner.token,
    body: { data: { type: 'authentication-tokens', attributes: { description: 'ci' } } },
  })
  await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization.name}/teams`,
    token: created.json().data.attributes.token,
    body: { data: { type: 'teams', attributes: { name: 'by ci' } } },
  })
  await createUser(app, { username: 'idle-developer' })
  const actors = async (q: string, token = owner.token) =>
    app.request({ url: `/api/v2/organizations/${organization.name}/audit-trail/actors?q=${q}`, token })

  const [{ auth }] = (await trail()).json().data
  const [named, own] = [(await actors('DEVELOP')).json().actors, (await actors(owner.username)).json().actors]

  expect(auth.token).toEqual({ description: 'ci', owner: { type: 'teams', id: team, name: 'developers' } })
  expect(named).toEqual([{ id: auth.accessor_id, type: 'teams', name: 'developers' }])
  expect(own).toEqual([{ id: owner.id, type: 'users', name: owner.username }])
  expect((await actors('', (await createUser(app)).token)).status).toBe(404)
})

test('a change that fails leaves no event', async () => {
  await createTeam('twice')
  const before = (await trail()).json().pagination.total_count

  expect((await createTeam('twice')).status).toBe(422)

  expect((await trail()).json().pagination.total_count).toBe(before)
})

test('an event and its change are stored together or not at all', async () => {
  const event = {
    organizationId: organization.id,
    action: 'update',
    resource: { type: 'team', id: 'team-rolled-back' },
    notices: [],
  }

  await expect(
    transact(app.as(owner.actor), async (ctx) => {
      await recordAudit(ctx, event)
      throw new Error('the change fails')
    }),
  ).rejects.toThrow('the change fails')

  expect((await trail()).text).not.toContain('team-rolled-back')
})

test('the newest events come first, in pages, after a time', async () => {
  app.clock.advance(60_000)
  const since = app.now().toISOString()
  app.clock.advance(1)
  for (const name of ['page-1', 'page-2', 'page-3']) {
    await createTeam(name)
    app.clock.advance(1000)
  }
  const names = async (query: string) => (await trail(query)).json().data.map((event: any) => event.resource.meta.name)

  expect(await names(`?since=${since}`)).toEqual(['page-3', 'page-2', 'page-1'])
  expect(await names(`?since=${since}&page[size]=2&page[number]=2`)).toEqual(['page-1'])
  expect((await trail(`?since=${since}&page[size]=2`)).json().pagination).toEqual({
    current_page: 1,
    page_size: 2,
    prev_page: null,
    next_page: 2,
    total_pages: 2,
    total_count: 3,
  })
  expect((await trail('?since=yesterday')).status).toBe(422)
})

test("it is readable with the organization's tokens, and by name for owners", async () => {
  const [member, other] = [await createUser(app), await createUser(app)]
  await addMember(app, organization.id, member)
  const elsewhere = await createOrganization(app, other)
  const foreign = await createOrganizationToken(app.as(other.actor), elsewhere.name, { kind: 'organization' })
  const own = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
  const byName = async (bearer: string) =>
    (await app.request({ url: `/api/v2/organizations/${organization.name}/audit-trail`, token: bearer })).status

  expect((await trail('', own.text)).status).toBe(200)
  expect((await trail('', owner.token)).status).toBe(404)
  expect((await trail('', foreign.text)).text).not.toContain('audited')
  expect([await byName(owner.token), await byName(own.text)]).toEqual([200, 200])
  expect([await byName(member.token), await byName(other.token), await byName(foreign.text)]).toEqual([404, 404, 404])
  expect((await app.request({ url: `/api/v2/organizations/${organization.name}`, token })).status).toBe(404)
})

test('only site administrators read events without an organization', async () => {
  const admin = await createUser(app, { isSiteAdmin: true })
  const person = await createUser(app, { password: 'a good password' })
  const signIn = (body: object) =>
    app.request({
      method: 'POST',
      url: '/api/v2/sessions',
      body: { data: { type: 'sessions', attributes: body } },
      headers: { origin: 'http://groundstate.test' },
    })
  const site = async (bearer: string) => app.request({ url: '/api/v2/admin/audit-trail', token: bearer })

  const right = await signIn({ username: person.username, password: 'a good password' })
  const wrong = await signIn({ username: person.username, password: 'a wrong password' })
  const unknown = await signIn({ username: 'my-password', password: 'typed into the wrong field' })

  expect([right.status, wrong.status, unknown.status]).toEqual([201, 401, 401])
  const document = await site(admin.token)
  const byRequest = (response: TestResponse) =>
    document.json().data.filter((event: any) => event.request.id === response.headers['x-request-id'])
  expect(byRequest(right)).toMatchObject([
    { auth: { accessor_id: person.id, organization_id: null }, resource: { id: person.id, action: 'sign_in' } },
  ])
  expect(byRequest(wrong)).toMatchObject([
    {
      auth: { accessor_id: null, description: 'anonymous', address: '127.0.0.1' },
      resource: { id: person.id, type: 'user', action: 'sign_in_failed', meta: { reason: 'password' } },
    },
  ])
  expect(byRequest(unknown)).toMatchObject([{ resource: { id: 'unknown', action: 'sign_in_failed' } }])
  expect(document.text).not.toContain('my-password')
  expect([(await site(owner.token)).status, (await site(token)).status]).toEqual([404, 404])
})

test('an IPv4 address is recorded as such also by a server that listens on IPv6', async () => {
  const admin = await createUser(app, { isSiteAdmin: true })

  const response = await app.server.fastify.inject({
    method: 'POST',
    url: '/api/v2/sessions',
    remoteAddress: '::ffff:192.0.2.7',
    headers: { origin: 'http://groundstate.test', 'content-type': 'application/vnd.api+json' },
    payload: { data: { type: 'sessions', attributes: { username: 'nobody', password: 'unknown' } } },
  })

  const { data } = (await app.request({ url: '/api/v2/admin/audit-trail', token: admin.token })).json()
  const event = data.find(({ request }: any) => request.id === response.headers['x-request-id'])
  expect(event.auth.address).toBe('192.0.2.7')
})

test('wrong passwords and codes of signed-in users are recorded too, as failed sign-ins', async () => {
  const admin = await createUser(app, { isSiteAdmin: true })
  const person = await createUser(app, { password: 'a good password' })
  const send = (method: 'PATCH' | 'POST', path: string, attributes: object) =>
    app.request({
      method,
      url: `/api/v2/account/${path}`,
      token: person.token,
      body: { data: { type: 'users', attributes } },
    })

  const wrong = { current_password: 'a wrong password', password: 'another password' }
  const refused = await send('PATCH', 'password', wrong)
  await send('POST', 'two-factor/actions/enroll', { password: 'a wrong password' })

  const { data } = (await app.request({ url: '/api/v2/admin/audit-trail', token: admin.token })).json()
  const failed = data.filter(({ resource }: any) => resource.id === person.id && resource.action === 'sign_in_failed')
  expect(refused.status).toBe(422)
  expect(failed).toMatchObject([
    { auth: { accessor_id: person.id }, resource: { meta: { reason: 'current password' } } },
    { auth: { accessor_id: person.id }, resource: { meta: { reason: 'current password' } } },
  ])
})

test('events older than the setting are deleted', async () => {
  await createTeam('old')
  app.clock.advance(31 * 86_400_000)
  await createTeam('new')

  const { sweepAuditTrail } = await import('./jobs.ts')
  await sweepAuditTrail(app.as(), new AbortController().signal)

  const names = (await trail()).json().data.map((event: any) => event.resource.meta.name)
  expect(names).toEqual(['new'])
})

test('the event of a creation contains access, scope and settings', async () => {
  const workspace = await createWorkspace(app, { organization: organization.name })
  const inside = `/api/v2/organizations/${organization.name}`
  const one = { data: [{ id: workspace.id, type: 'workspaces' }] }
  const create = async (path: string, type: string, attributes: object, relationships: object = {}) =>
    app.request({
      method: 'POST',
      url: `${inside}/${path}`,
      token: owner.token,
      body: { data: { type, attributes, relationships } },
    })

  await create('teams', 'teams', { name: 'ops', 'organization-access': { 'manage-workspaces': true } })
  await create(
    'agent-pools',
    'agent-pools',
    { name: 'rack', 'organization-scoped': false },
    { 'allowed-workspaces': one },
  )
  const tags = { data: [{ type: 'tag-bindings', attributes: { key: 'team', value: 'core' } }] }
  await create('workspaces', 'workspaces', { name: 'network', 'global-remote-state': true }, { 'tag-bindings': tags })
  await create('projects', 'projects', { name: 'platform' }, { 'tag-bindings': tags })
  await create('varsets', 'varsets', { name: 'cloud', global: false }, { workspaces: one })

  const events = (await app.request({ url: `${inside}/audit-trail`, token: owner.token })).json().data
  const changes = (type: string) =>
    events.find(({ resource }: any) => resource.type === type && resource.action === 'create').resource.meta.changes
  expect(changes('team')).toMatchObject({ 'organization-access': { 'manage-workspaces': true } })
  expect(changes('agent_pool')).toMatchObject({ 'organization-scoped': false, 'allowed-workspaces': one })
  expect(changes('variable_set')).toMatchObject({ global: false, workspaces: one })
  const bound = [{ key: 'team', value: 'core' }]
  expect(changes('workspace')).toMatchObject({ 'global-remote-state': true, 'tag-bindings': bound })
  expect(changes('project')).toMatchObject({ tags: bound })
})
