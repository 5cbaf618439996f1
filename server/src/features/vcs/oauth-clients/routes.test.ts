import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
async function send(method: Method, path: string, data?: unknown, token = owner.token) {
  return app.request({ method, url: `/api/v2/${path}`, token, ...(data !== undefined && { body: { data } }) })
}

const GITHUB = { 'service-provider': 'github', 'oauth-token-string': 'ghp_secret' }

async function post(attributes: object, relationships: object = {}) {
  return send('POST', `organizations/${acme.name}/oauth-clients`, { type: 'oauth-clients', attributes, relationships })
}

async function createClient(attributes: object = GITHUB, relationships: object = {}) {
  const response = await post(attributes, relationships)
  expect(response.status).toBe(201)
  return response.json().data
}

const tokenOf = (client: { relationships: { 'oauth-tokens': { data: [{ id: string }] } } }) =>
  client.relationships['oauth-tokens'].data[0].id

test('a token connects without a browser, and no response shows it', async () => {
  const created = await post({ ...GITHUB, name: 'acme on GitHub' })
  const client = created.json().data
  const [list, shown, token] = await Promise.all([
    send('GET', `organizations/${acme.name}/oauth-clients?include=oauth_tokens`),
    send('GET', `oauth-clients/${client.id}`),
    send('GET', `oauth-tokens/${tokenOf(client)}`),
  ])

  expect(client.attributes).toMatchObject({
    name: 'acme on GitHub',
    'service-provider': 'github',
    'service-provider-display-name': 'GitHub',
    'http-url': 'https://github.com',
    'api-url': 'https://api.github.com',
    'connect-path': null,
    'organization-scoped': true,
    secret: null,
    status: 'connected',
  })
  expect(list.json().included.map(({ id }: { id: string }) => id)).toContain(tokenOf(client))
  expect(shown.json().data).toEqual(client)
  expect(token.json().data.relationships['oauth-client'].data).toEqual({ type: 'oauth-clients', id: client.id })
  for (const response of [created, list, shown, token]) expect(response.text).not.toContain('ghp_secret')
})

test('a key and a secret wait for an authorization in a browser', async () => {
  const { attributes } = await createClient({ 'service-provider': 'gitlab_hosted', key: 'id', secret: 's3cret' })

  expect(attributes).toMatchObject({ key: 'id', status: 'pending', 'connect-path': `/auth/${attributes.uuid}` })
  expect(attributes['callback-url']).toMatch(new RegExp(`^http.*/auth/${attributes.uuid}/callback$`))
})

test('a private key connects a git server', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const client = await createClient({
    'service-provider': 'git',
    'http-url': 'https://git.example.com',
    'private-key': privateKey.export({ type: 'pkcs8', format: 'pem' }),
  })
  const token = await send('GET', `oauth-tokens/${tokenOf(client)}`)

  expect(token.json().data.attributes['has-ssh-key']).toBe(true)
})

test.each<[string, object, string, RegExp]>([
  ['an unknown kind of host', { 'service-provider': 'svn' }, 'service-provider', /github/],
  [
    'an ssh URL with a token',
    {
      'service-provider': 'git',
      'http-url': 'ssh://git@git.example.com',
      'oauth-token-string': 'x',
      'oauth-token-username': 'ada',
    },
    'private-key',
    /ssh URL with a key/,
  ],
  ['no credentials', { 'service-provider': 'github' }, 'key', /can't be blank/],
  ['no address', { 'service-provider': 'gitea', 'oauth-token-string': 'x' }, 'http-url', /can't be blank/],
  [
    'a password in an address',
    { ...GITHUB, 'http-url': 'https://ada:p4ss@git.example' },
    'http-url',
    /must not contain/,
  ],
  ['a password in no address', { ...GITHUB, 'api-url': 'ftp://ada:p4ss@git.example' }, 'api-url', /http or https URL/],
  ['a wrong port', { ...GITHUB, 'http-url': 'https://git.example:99999' }, 'http-url', /port must be at most 65535/],
  ['a relative address', { ...GITHUB, 'http-url': 'github.com' }, 'http-url', /http/],
  [
    'no user of the token',
    { 'service-provider': 'bitbucket_hosted', 'oauth-token-string': 'x' },
    'oauth-token-username',
    /blank/,
  ],
])('%s is rejected', async (_, attributes, name, detail) => {
  const refused = await post(attributes)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  expect(refused.json().errors[0].detail).toMatch(detail)
  expect(refused.text).not.toContain('p4ss')
})

test('a pool does not make a password in an address acceptable', async () => {
  const pool = await send('POST', `organizations/${acme.name}/agent-pools`, {
    type: 'agent-pools',
    attributes: { name: 'private' },
  })
  const agentPool = { data: { type: 'agent-pools', id: pool.json().data.id } }

  const refused = await post({ ...GITHUB, 'http-url': 'https://p4ss@git.example' }, { 'agent-pool': agentPool })

  expect(refused.status).toBe(422)
  expect(refused.text).not.toContain('p4ss')
})

test('the host of a connection cannot be changed, but named again', async () => {
  const { id, attributes: before } = await createClient()
  const names = ['service-provider', 'http-url', 'api-url'] as const
  const update = async (attributes: object) =>
    send('PATCH', `oauth-clients/${id}`, { type: 'oauth-clients', attributes })

  const same = Object.fromEntries(names.map((name) => [name, before[name]]))
  const repeated = await update({ ...same, 'http-url': `${before['http-url']}/` })
  const other = {
    'service-provider': 'gitea',
    'http-url': 'https://u:p4ss@git.example',
    'api-url': 'https://git.example',
  }
  const refused = await Promise.all(names.map(async (name) => update({ [name]: other[name] })))

  expect(repeated.status).toBe(200)
  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422])
  expect(refused.map((response) => response.json().errors[0])).toMatchObject(
    names.map((name) => ({
      detail: `${name} cannot be changed: create another connection`,
      source: { pointer: `/data/attributes/${name}` },
    })),
  )
})

test('clients send empty texts instead of nothing', async () => {
  const unused = { name: '', key: '', secret: '', 'rsa-public-key': '', 'private-key': '' }

  const { attributes } = await createClient({ ...GITHUB, ...unused })

  expect(attributes).toMatchObject({ name: null, status: 'connected' })
})

test('a key pair of a host without OAuth waits for an access token', async () => {
  const pair = { key: 'consumer', secret: 'private', 'rsa-public-key': 'public' }
  const host = { 'service-provider': 'bitbucket_data_center', 'http-url': 'https://bitbucket.example.com' }
  const client = await createClient({ ...host, ...pair })
  const update = async (attributes: object) =>
    send('PATCH', `oauth-clients/${client.id}`, { type: 'oauth-clients', attributes })

  const without = await update({ key: '' })
  const connected = await update({ 'oauth-token-username': 'ci', 'oauth-token-string': 'token' })

  expect(client.attributes).toMatchObject({
    status: 'pending',
    'connect-path': null,
    'status-message': 'Bitbucket Data Center is connected by an access token: set oauth-token-string',
    'rsa-public-key': 'public',
  })
  expect(without.status).toBe(422)
  expect(connected.json().data.attributes).toMatchObject({ status: 'connected', 'status-message': null })
})

test('a new token is of the same user, unless the request names another', async () => {
  const host = { 'service-provider': 'git', 'http-url': 'https://git.example.com' }
  const client = await createClient({ ...host, 'oauth-token-username': 'ci', 'oauth-token-string': 'old' })
  const update = async (attributes: object) => {
    const { status } = await send('PATCH', `oauth-clients/${client.id}`, { type: 'oauth-clients', attributes })
    const query = app.db.selectFrom('oauth_tokens').select('username').where('id', '=', tokenOf(client))
    return [status, (await query.executeTakeFirstOrThrow()).username]
  }

  expect(await update({ 'oauth-token-string': 'new' })).toEqual([200, 'ci'])
  expect(await update({ 'oauth-token-username': 'deploy', 'oauth-token-string': 'newer' })).toEqual([200, 'deploy'])
})

test('a response to an invalid SSH key does not have it', async () => {
  const client = await createClient()

  const refused = await send('PATCH', `oauth-tokens/${tokenOf(client)}`, {
    type: 'oauth-tokens',
    attributes: { 'ssh-key': 'a private text' },
  })

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toMatch(/^Ssh key is invalid: it must be a private key/)
  expect(refused.text).not.toContain('a private text')
})

test('a new token replaces the old one under its id', async () => {
  const client = await createClient()
  const id = tokenOf(client)
  const before = await app.db.selectFrom('oauth_tokens').select('token').where('id', '=', id).executeTakeFirstOrThrow()

  const attributes = { name: 'renamed', 'oauth-token-string': 'ghp_other' }
  const updated = await send('PATCH', `oauth-clients/${client.id}`, { type: 'oauth-clients', attributes })
  const after = await app.db.selectFrom('oauth_tokens').select('token').where('id', '=', id).executeTakeFirstOrThrow()

  expect(updated.json().data.attributes.name).toBe('renamed')
  expect(tokenOf(updated.json().data)).toBe(id)
  expect(after.token).not.toEqual(before.token)
})

test('a connection is limited to projects', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const projects = { data: [{ type: 'projects', id: project.id }] }
  const client = await createClient({ ...GITHUB, 'organization-scoped': false }, { projects })
  const inside = await createWorkspace(app, { organization: acme.name, actor: owner.actor, projectId: project.id })
  const outside = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  const connect = async ({ id }: { id: string }) =>
    send('PATCH', `workspaces/${id}`, {
      type: 'workspaces',
      attributes: { 'vcs-repo': { identifier: 'acme/network', 'oauth-token-id': tokenOf(client) } },
    })

  const [connected, refused] = [await connect(inside), await connect(outside)]
  const affected = await send('GET', `oauth-clients/${client.id}?show_affected_workspaces=true`)
  const removed = await send('DELETE', `oauth-clients/${client.id}/relationships/projects`, projects.data)
  const without = await send('GET', `oauth-clients/${client.id}`)

  expect(connected.json().data.attributes['vcs-repo']).toMatchObject({
    identifier: 'acme/network',
    branch: '',
    'oauth-token-id': tokenOf(client),
    'service-provider': 'github',
    'repository-http-url': 'https://github.com/acme/network',
    'webhook-url': expect.stringMatching(/\/webhooks\/vcs\/[0-9a-f-]{36}$/),
  })
  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/vcs-repo/oauth-token-id')
  expect(affected.json().data.attributes).toMatchObject({ 'affected-workspaces-count': 1 })
  expect(removed.status).toBe(204)
  expect(without.json().data.relationships.projects.data).toEqual([])
})

test('members see connections but change none, and strangers see nothing', async () => {
  const client = await createClient()
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await addMember(app, acme.id, member)
  const rename = { type: 'oauth-clients', attributes: { name: 'mine' } }

  const read = await send('GET', `oauth-clients/${client.id}`, undefined, member.token)
  const changed = await send('PATCH', `oauth-clients/${client.id}`, rename, member.token)
  const hidden = await send('GET', `oauth-tokens/${tokenOf(client)}`, undefined, stranger.token)

  expect([read.status, changed.status, hidden.status]).toEqual([200, 403, 404])
})

test('workspaces that are connected at the same time share the repository', async () => {
  const token = tokenOf(await createClient())
  const connect = async (index: number) =>
    send('POST', `organizations/${acme.name}/workspaces`, {
      type: 'workspaces',
      attributes: { name: `shared-${index}`, 'vcs-repo': { identifier: 'acme/shared', 'oauth-token-id': token } },
    })

  const responses = await Promise.all([1, 2, 3, 4, 5, 6].map(connect))

  expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201])
  const urls = responses.map((response) => response.json().data.attributes['vcs-repo']['webhook-url'])
  expect(new Set(urls).size).toBe(1)
})

test('a workspace loses its repository with the connection', async () => {
  const client = await createClient()
  const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  const repository = { identifier: 'acme/network', 'oauth-token-id': tokenOf(client) }
  await send('PATCH', `workspaces/${workspace.id}`, { type: 'workspaces', attributes: { 'vcs-repo': repository } })

  const deleted = await send('DELETE', `oauth-clients/${client.id}`)
  const after = await send('GET', `workspaces/${workspace.id}`)

  expect(deleted.status).toBe(204)
  expect(after.json().data.attributes['vcs-repo']).toBe(null)
})
