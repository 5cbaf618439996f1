import { beforeEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { hmac, startReceiver } from '../../../testing/receiver.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app, { isSiteAdmin: true })
const organization = await createOrganization(app, owner)
const member = await createUser(app)
await addMember(app, organization.id, member)
const receiver = await startReceiver()

let workspaceId: string
let at: string
beforeEach(async () => {
  workspaceId = (await createWorkspace(app, { organization: organization.name, actor: owner.actor })).id
  at = `/workspaces/${workspaceId}/notification-configurations`
  receiver.requests = []
  receiver.onRequest = undefined
})

const GENERIC = { name: 'chat', 'destination-type': 'generic', url: receiver.url }
type Relationships = Record<string, unknown>

async function request(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  token: string | undefined,
  body?: unknown,
) {
  return app.request({ method, url: `/api/v2${url}`, token, ...(body === undefined ? {} : { body }) })
}

async function post(attributes: object, relationships: Relationships = {}, url = at) {
  return request('POST', url, owner.token, {
    data: { type: 'notification-configurations', attributes, relationships },
  })
}

async function create(attributes: object = GENERIC, relationships: Relationships = {}, url = at) {
  const response = await post(attributes, relationships, url)
  if (response.status !== 201) throw new Error(`it was not created: ${response.text}`)
  return response.json().data
}

const patch = async (id: string, attributes: object, relationships: Relationships = {}) =>
  request('PATCH', `/notification-configurations/${id}`, owner.token, {
    data: { id, type: 'notification-configurations', attributes, relationships },
  })
const users = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ id, type: 'users' })) } })

test('a configuration has its attributes, and its token is never shown', async () => {
  const created = await create({ ...GENERIC, token: 'key', triggers: ['run:errored', 'run:created', 'run:errored'] })

  expect(created.attributes).toMatchObject({
    name: 'chat',
    'destination-type': 'generic',
    enabled: false,
    url: receiver.url,
    token: null,
    'has-token': true,
    triggers: ['run:errored', 'run:created'],
    'delivery-responses': [],
    'last-notification': null,
    permissions: { 'can-update': true, 'can-destroy': true },
  })
  expect(created.relationships.subscribable.data).toEqual({ id: workspaceId, type: 'workspaces' })
  expect(receiver.requests).toEqual([])
  const shown = await request('GET', `/notification-configurations/${created.id}`, owner.token)
  expect(shown.json().data).toEqual(created)
})

test('an enabled configuration is verified first, with null run keys and a signature', async () => {
  receiver.onRequest = (_, response) => response.writeHead(204, { 'x-chat': 'a' }).end()

  const created = await create({ ...GENERIC, token: 'key', enabled: true })

  const [sent] = receiver.requests
  expect(sent?.payload).toEqual({
    payload_version: 1,
    notification_configuration_id: created.id,
    run_url: null,
    run_id: null,
    run_message: null,
    run_created_at: null,
    run_created_by: null,
    workspace_id: null,
    workspace_name: null,
    organization_name: null,
    notifications: [
      {
        message: 'Verification of "chat"',
        trigger: 'verification',
        run_status: null,
        run_updated_at: null,
        run_updated_by: null,
      },
    ],
  })
  expect(sent?.headers['x-tfe-notification-signature']).toBe(hmac(sent?.body ?? '', 'key'))
  expect(created.attributes['delivery-responses']).toMatchObject([
    { url: receiver.url, code: '204', successful: 'true', body: '', headers: { 'x-chat': ['a'] } },
  ])
})

test('a failed verification is a 400 with what was received, and stores nothing', async () => {
  receiver.onRequest = (_, response) => response.writeHead(500).end('out of order')

  const response = await post({ ...GENERIC, enabled: true })

  expect(response.status).toBe(400)
  expect(response.json().errors[0]).toMatchObject({
    detail: expect.stringContaining('the response was 500: out of order'),
    source: { pointer: '/data/attributes/url' },
  })
  expect((await request('GET', at, owner.token)).json().data).toEqual([])
})

test('verification on demand stores the response, and enabling needs it', async () => {
  const { id } = await create()

  const verified = await request('POST', `/notification-configurations/${id}/actions/verify`, owner.token)
  receiver.onRequest = (_, response) => response.writeHead(404).end()
  const refused = await request('POST', `/notification-configurations/${id}/actions/enable`, owner.token)
  receiver.onRequest = undefined
  const enabled = await request('POST', `/notification-configurations/${id}/actions/enable`, owner.token)
  const disabled = await request('POST', `/notification-configurations/${id}/actions/disable`, owner.token)

  expect(verified.json().data.attributes).toMatchObject({ enabled: false, 'delivery-responses': [{ code: '200' }] })
  expect(refused.status).toBe(400)
  expect(enabled.json().data.attributes.enabled).toBe(true)
  expect(disabled.json().data.attributes.enabled).toBe(false)
})

test('an update changes what it has, and an empty token removes it', async () => {
  const { id } = await create({ ...GENERIC, token: 'key', triggers: ['run:created'] })

  const renamed = await patch(id, { name: 'other', triggers: [] })
  const removed = await patch(id, { token: '' })
  const unchanged = await patch(id, {})

  expect(renamed.json().data.attributes).toMatchObject({
    name: 'other',
    triggers: [],
    url: receiver.url,
    'has-token': true,
  })
  expect(removed.json().data.attributes['has-token']).toBe(false)
  expect(unchanged.json().data.attributes).toMatchObject({ name: 'other' })
})

test('e-mail names members, and an update without them removes them unless it only enables', async () => {
  const EMAIL = { name: 'mail', 'destination-type': 'email', enabled: false }

  const created = await create(EMAIL, users(member.id))
  const enabled = await patch(created.id, { enabled: true })
  const renamed = await patch(created.id, { enabled: true, name: 'newName' })

  expect(created.relationships.users.data).toEqual([{ id: member.id, type: 'users' }])
  expect(enabled.json().data).toMatchObject({
    attributes: { enabled: true, 'delivery-responses': [], url: null },
    relationships: { users: { data: [{ id: member.id }] } },
  })
  expect(renamed.json().data.relationships.users.data).toEqual([])
})

test('e-mail names someone who is invited, and the user once there is an account', async () => {
  const EMAIL = { name: 'mail', 'destination-type': 'email', enabled: false }
  const invitation = await request(
    'POST',
    `/organizations/${organization.name}/organization-memberships`,
    owner.token,
    {
      data: { type: 'organization-memberships', attributes: { email: 'grace@example.com' } },
    },
  )
  const invited = invitation.json().data.relationships.user.data.id
  const { url } = invitation.json().included.find(({ type }: any) => type === 'invitations').attributes

  const created = await create(EMAIL, users(member.id, invited))
  const secret = new URL(url).hash.slice(1)
  const attributes = { secret, username: 'grace', password: 'correct horse battery' }
  const account = await request('POST', '/invitations/actions/register', undefined, {
    data: { type: 'invitations', attributes },
  })
  const named = (await request('GET', `/notification-configurations/${created.id}`, owner.token)).json().data
  const renamed = await patch(created.id, { name: 'other' }, { users: named.relationships.users })

  const ids = (data: any) => data.relationships.users.data.map(({ id }: any) => id)
  expect(new Set(ids(created))).toEqual(new Set([member.id, invited]))
  expect(account.status).toBe(201)
  expect(ids(named)).toHaveLength(2)
  expect(ids(named)).toContain(member.id)
  expect(ids(named)).not.toContain(invited)
  expect(ids(renamed.json().data)).toEqual(ids(named))
})

test('addresses of members are accepted, others only where the site allows them', async () => {
  const EMAIL = {
    name: 'mail',
    'destination-type': 'email',
    'email-addresses': [member.email, 'sam@elsewhere.example'],
  }
  const open = await createTestApp({ GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES: 'allow' })
  const admin = await createUser(open)
  const { name } = await createOrganization(open, admin)
  const { id } = await createWorkspace(open, { organization: name, actor: admin.actor })

  const refused = await post(EMAIL)
  const accepted = await create({ ...EMAIL, 'email-addresses': [member.email] })
  const allowed = await open.request({
    method: 'POST',
    url: `/api/v2/workspaces/${id}/notification-configurations`,
    token: admin.token,
    body: { data: { attributes: { ...EMAIL, 'email-addresses': [admin.email, 'sam@elsewhere.example'] } } },
  })

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/email-addresses/1')
  expect(accepted.attributes).toMatchObject({ 'user-email-addresses': [member.email], 'external-email-addresses': [] })
  expect(allowed.json().data.attributes).toMatchObject({
    'email-addresses': [admin.email, 'sam@elsewhere.example'],
    'user-email-addresses': [admin.email],
    'external-email-addresses': ['sam@elsewhere.example'],
  })
})

test('projects and teams have configurations, teams of their triggers', async () => {
  const project = await createProject(app, { organization: organization.name, actor: owner.actor })
  const team = await createTeam(app, organization.id, { members: [member] })
  const ofProject = `/projects/${project.id}/notification-configurations`
  const ofTeam = `/teams/${team}/notification-configurations`

  const one = await create({ ...GENERIC, triggers: ['workspace:deleted'] }, {}, ofProject)
  const other = await create(
    { ...GENERIC, triggers: ['change_request:created'] },
    { subscribable: { data: { id: team, type: 'teams' } } },
    ofTeam,
  )

  expect(one.relationships.subscribable.data).toEqual({ id: project.id, type: 'projects' })
  expect(other.relationships.subscribable.data).toEqual({ id: team, type: 'teams' })
  expect((await request('GET', ofTeam, owner.token)).json()).toEqual({ data: [other] })
  const included = await request('GET', `/notification-configurations/${one.id}?include=subscribable`, owner.token)
  expect(included.json().included).toMatchObject([{ id: project.id, type: 'projects' }])
})

test('a list has pages only if they are asked for', async () => {
  const [first, second] = [await create(), await create()]

  const whole = await request('GET', at, owner.token)
  const page = await request('GET', `${at}?page[size]=1&page[number]=2`, owner.token)
  const beyond = await request('GET', `${at}?page[number]=999`, owner.token)

  expect(whole.json()).toEqual({ data: [first, second] })
  expect(page.json()).toMatchObject({ data: [{ id: second.id }], meta: { pagination: { 'total-count': 2 } } })
  expect(beyond.json()).toMatchObject({ data: [], meta: { pagination: { 'current-page': 999 } } })
})

test('a workspace has at most 20 configurations', async () => {
  for (let index = 0; index < 20; index += 1) await create()

  const response = await post(GENERIC)

  expect(response.status).toBe(422)
  expect(response.json().errors[0].detail).toContain('at most 20')
})

test('a deleted configuration is not found', async () => {
  const { id } = await create()

  const deleted = await request('DELETE', `/notification-configurations/${id}`, owner.token)

  expect(deleted.status).toBe(204)
  expect((await request('GET', `/notification-configurations/${id}`, owner.token)).status).toBe(404)
  expect((await patch(id, {})).status).toBe(404)
})

describe('access', () => {
  test('readers of the workspace see neither URL nor addresses, and others nothing', async () => {
    const { id } = await create({ ...GENERIC, enabled: true })
    const reader = await createUser(app)
    const team = await createTeam(app, organization.id, { members: [reader] })
    await request('POST', '/team-workspaces', owner.token, {
      data: {
        type: 'team-workspaces',
        attributes: { access: 'write' },
        relationships: {
          team: { data: { id: team, type: 'teams' } },
          workspace: { data: { id: workspaceId, type: 'workspaces' } },
        },
      },
    })

    const read = await request('GET', `/notification-configurations/${id}`, reader.token)
    const written = await request('DELETE', `/notification-configurations/${id}`, reader.token)
    const stranger = await request('GET', `/notification-configurations/${id}`, member.token)

    expect(read.json().data.attributes).toMatchObject({
      url: null,
      'delivery-responses': [],
      permissions: { 'can-update': false },
    })
    expect(written.status).toBe(403)
    expect(stranger.status).toBe(404)
    expect(stranger.json().errors[0].detail).toContain('notification configuration')
  })

  test('changes are in the audit trail, without URL and token', async () => {
    const { id } = await create({ ...GENERIC, token: 'key' })
    await patch(id, { url: `${receiver.url}/secret`, token: 'other' })

    const rows = await app.db
      .selectFrom('audit_events')
      .select(['action', 'meta'])
      .where('resource_id', '=', id)
      .orderBy('id')
      .execute()

    expect(rows).toEqual([
      { action: 'create', meta: { name: 'chat', workspace: workspaceId } },
      { action: 'update', meta: { name: 'chat', workspace: workspaceId, changes: ['url', 'token'] } },
    ])
  })

  test('URL and token are sealed in the database', async () => {
    const { id } = await create({ ...GENERIC, token: 'a-secret-token' })

    const row = await app.db
      .selectFrom('notification_configurations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

    expect(JSON.stringify([row, row.url?.toString(), row.token?.toString()])).not.toMatch(/a-secret-token|127\.0\.0\.1/)
  })
})

describe('bad input', () => {
  const EMAIL = { name: 'mail', 'destination-type': 'email' }
  test.each<[string, object, string, string]>([
    ['no name', { ...GENERIC, name: ' ' }, '/data/attributes/name', "can't be blank"],
    [
      'no destination',
      { name: 'x', url: 'https://example.com' },
      '/data/attributes/destination-type',
      'destination-type',
    ],
    ['an unknown destination', { ...GENERIC, 'destination-type': 'pager' }, '/data/attributes/destination-type', ''],
    ['no URL', { name: 'x', 'destination-type': 'slack' }, '/data/attributes/url', "url can't be blank"],
    ['no HTTP', { ...GENERIC, url: 'ftp://example.com' }, '/data/attributes/url', 'https://'],
    ['a metadata address', { ...GENERIC, url: 'http://169.254.169.254/' }, '/data/attributes/url', 'link-local'],
    ['an unknown trigger', { ...GENERIC, triggers: ['run:gone'] }, '/data/attributes/triggers/0', ''],
    [
      "a team's trigger",
      { ...GENERIC, triggers: ['run:created', 'change_request:created'] },
      '/data/attributes/triggers/1',
      'change_request:created is not a trigger of workspaces',
    ],
    ['a URL of e-mail', { ...EMAIL, url: 'https://example.com' }, '/data/attributes/url', 'email'],
    ['a token of e-mail', { ...EMAIL, token: 'x' }, '/data/attributes/token', 'email'],
    ['a token of Slack', { ...GENERIC, 'destination-type': 'slack', token: 'x' }, '/data/attributes/token', 'slack'],
    [
      'addresses of Slack',
      { ...GENERIC, 'email-addresses': ['a@example.com'] },
      '/data/attributes/email-addresses',
      '',
    ],
    ['no address', { ...EMAIL, 'email-addresses': ['ada'] }, '/data/attributes/email-addresses/0', ''],
    [
      'members of a workspace',
      { ...EMAIL, 'email-all-members': true },
      '/data/attributes/email-all-members',
      'name users',
    ],
    ['members of Slack', { ...GENERIC, email_all_members: true }, '/data/attributes/email-all-members', ''],
    ['a number as enabled', { ...GENERIC, enabled: 1 }, '/data/attributes/enabled', ''],
  ])('%s', async (_, attributes, pointer, detail) => {
    const response = await post(attributes)

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({ source: { pointer }, detail: expect.stringContaining(detail) })
  })

  test('users that are no members, and users of other destinations', async () => {
    const stranger = await createUser(app)

    const unknown = await post(EMAIL, users(member.id, stranger.id))
    const misplaced = await post(GENERIC, users(member.id))

    expect(unknown.status).toBe(422)
    expect(unknown.json().errors[0].source.pointer).toBe('/data/relationships/users/data/1/id')
    expect(misplaced.json().errors[0].source.pointer).toBe('/data/relationships/users/data')
  })

  test('another subscribable than that of the path, and another destination in an update', async () => {
    const { id } = await create()

    const other = await post(GENERIC, { subscribable: { data: { id: 'ws-other', type: 'workspaces' } } })
    const changed = await patch(id, { 'destination-type': 'slack' })
    const same = await patch(id, { 'destination-type': 'generic' })

    expect(other.json().errors[0].source.pointer).toBe('/data/relationships/subscribable/data')
    expect(changed.status).toBe(422)
    expect(same.status).toBe(200)
  })
})
