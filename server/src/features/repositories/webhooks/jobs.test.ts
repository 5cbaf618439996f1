import { makeRepository, serveGit, USER } from '@groundstate/agent/testing/git-server'
import { expect, test } from 'vitest'
import { shortLivedContext } from '../../../secrets/sealed.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { repository } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { type HostRoutes, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { secretContext, tokenContext } from '../../vcs/oauth-clients/service.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown) {
  return app.request({
    method,
    url: `/api/v2/${path}`,
    token: owner.token,
    ...(data !== undefined && { body: { data } }),
  })
}

const HOOKS = '/api/v1/repos/acme/network/hooks'
const USABLE: HostRoutes = {
  'GET /api/v1/user': () => ({ body: { id: 1, login: 'mona' } }),
  'GET /api/v1/repos/acme/network': () => ({ body: { ...repository(), default_branch: 'trunk' } }),
  [`GET ${HOOKS}`]: () => ({ body: [] }),
  [`POST ${HOOKS}`]: ({ body }) => ({ status: 201, body: { id: 7, ...(body as object) } }),
  [`DELETE ${HOOKS}/7`]: () => ({ status: 204 }),
}

/** A connection to a host, and workspaces that use its repository acme/network. */
async function connect(routes: HostRoutes = USABLE, organization = acme.name) {
  const host = await startFakeHost(routes)
  const attributes = { 'service-provider': 'gitea', 'http-url': host.url, 'oauth-token-string': 'gta_secret' }
  const created = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  const client = created.json().data
  const tokenId: string = client.relationships['oauth-tokens'].data[0].id
  const update = async (id: string, vcsRepo: object | null) => {
    const response = await send('PATCH', `workspaces/${id}`, {
      type: 'workspaces',
      attributes: { 'vcs-repo': vcsRepo },
    })
    expect(response.status).toBe(200)
    return response.json().data.attributes['vcs-repo']
  }
  const addWorkspace = async () => {
    const { id } = await createWorkspace(app, { organization, actor: owner.actor })
    const vcsRepo = await update(id, { identifier: 'acme/network', 'oauth-token-id': tokenId })
    await app.runJobs()
    return { id, url: vcsRepo['webhook-url'] as string, leave: async () => update(id, null) }
  }
  return { host, clientId: client.id as string, tokenId, addWorkspace }
}

async function storedRepository(webhookUrl: string) {
  return app.db
    .selectFrom('repositories')
    .select(['default_branch', 'webhook_id', 'webhook_error', 'read_error'])
    .where('webhook_path', '=', webhookUrl.split('/').at(-1) ?? '')
    .executeTakeFirst()
}

test('the first workspace creates the webhook, and the next one uses it', async () => {
  const { host, addWorkspace } = await connect()

  const first = await addWorkspace()
  const second = await addWorkspace()
  const hooks = host.bodies(`POST ${HOOKS}`)

  expect(second.url).toBe(first.url)
  expect(hooks).toHaveLength(1)
  expect(hooks[0]).toMatchObject({ config: { url: first.url } })
  expect(await storedRepository(first.url)).toMatchObject({
    default_branch: 'trunk',
    webhook_id: '7',
    webhook_error: null,
  })
})

test('the last workspace removes the webhook', async () => {
  const { host, addWorkspace } = await connect()
  const [first, second] = [await addWorkspace(), await addWorkspace()]

  await first.leave()
  await app.runJobs()
  const early = host.asked().filter((route) => route.startsWith('DELETE'))
  await second.leave()
  await app.runJobs()

  expect(early).toEqual([])
  expect(host.asked().at(-1)).toBe(`DELETE ${HOOKS}/7`)
  expect(await storedRepository(first.url)).toBe(undefined)
})

test('a token that has expired is refreshed to remove the webhook', async () => {
  const { host, clientId, tokenId, addWorkspace } = await connect()
  const { leave } = await addWorkspace()
  host.reply('POST /login/oauth/access_token', { body: { access_token: 'fresh', token_type: 'bearer' } })
  const sealed = (context: string) => app.secrets.seal('secret', shortLivedContext(context))
  await app.db
    .updateTable('oauth_clients')
    .set({ key: 'key', secret: sealed(secretContext(clientId)) })
    .where('id', '=', clientId)
    .execute()
  await app.db
    .updateTable('oauth_tokens')
    .set({ refresh_token: sealed(tokenContext(tokenId, 'refresh-token')), expires_at: app.now() })
    .where('id', '=', tokenId)
    .execute()

  await leave()
  await app.runJobs()

  const last = host.requests.at(-1)
  expect(last?.route).toBe(`DELETE ${HOOKS}/7`)
  expect(last?.headers.authorization).toContain('fresh')
})

test('the deletion of the last workspace removes the webhook', async () => {
  const { host, addWorkspace } = await connect()
  const { id, url } = await addWorkspace()

  expect((await send('DELETE', `workspaces/${id}`)).status).toBe(204)
  await app.runJobs()

  expect(host.asked().at(-1)).toBe(`DELETE ${HOOKS}/7`)
  expect(await storedRepository(url)).toBe(undefined)
})

test('a webhook that the host creates while the last workspace leaves is removed', async () => {
  const { host, tokenId, addWorkspace } = await connect()
  const deleteWorkspace = async () => {
    const used = app.db.selectFrom('workspaces as w').innerJoin('repositories as r', 'r.id', 'w.repository_id')
    const { id } = await used.select('w.id').where('r.oauth_token_id', '=', tokenId).executeTakeFirstOrThrow()
    await send('DELETE', `workspaces/${id}`)
    await app.runJobs()
  }
  host.reply(`POST ${HOOKS}`, () => (response) => {
    const body = JSON.stringify({ id: 7, config: {} })
    void deleteWorkspace().then(() => response.writeHead(201, { 'content-type': 'application/json' }).end(body))
  })

  const { url } = await addWorkspace()

  expect(host.asked().at(-1)).toBe(`DELETE ${HOOKS}/7`)
  expect(await storedRepository(url)).toBe(undefined)
})

test('the deletion of an organization removes its webhooks', async () => {
  const other = await createOrganization(app, owner)
  const { host, addWorkspace } = await connect(USABLE, other.name)
  await addWorkspace()

  expect((await send('DELETE', `organizations/${other.name}`)).status).toBe(204)
  await app.runJobs()

  expect(host.asked().at(-1)).toBe(`DELETE ${HOOKS}/7`)
})

test('the deletion of a connection removes its webhooks', async () => {
  const { host, clientId, addWorkspace } = await connect()
  await addWorkspace()

  await send('DELETE', `oauth-clients/${clientId}`)
  await app.runJobs()

  expect(host.asked().at(-1)).toBe(`DELETE ${HOOKS}/7`)
})

test('a missing repository and a missing permission are shown, and not asked for again and again', async () => {
  const missing = await connect({ ...USABLE, 'GET /api/v1/repos/acme/network': () => ({ status: 404, body: {} }) })
  const forbidden = await connect({
    ...USABLE,
    [`POST ${HOOKS}`]: () => ({ status: 403, body: { message: 'not an admin' } }),
  })

  const [a, b] = [await missing.addWorkspace(), await forbidden.addWorkspace()]
  const asked = missing.host.asked().length
  await app.runJobs()

  expect((await storedRepository(a.url))?.webhook_error).toContain('has no repository acme/network')
  expect((await storedRepository(b.url))?.webhook_error).toContain('not an admin')
  expect(missing.host.asked()).toHaveLength(asked)
})

test('a host that is down gets its webhook later', async () => {
  const { host, addWorkspace } = await connect({ ...USABLE, [`POST ${HOOKS}`]: () => ({ status: 503, body: 'down' }) })
  const { url } = await addWorkspace()
  const early = await storedRepository(url)
  host.reply(`POST ${HOOKS}`, { status: 201, body: { id: 7, config: { url } } })

  app.clock.advance(3_600_000)
  await app.runJobs()

  expect(early?.webhook_error).toContain('503')
  expect(await storedRepository(url)).toMatchObject({ webhook_id: '7', webhook_error: null })
})

test('git says which branch of a git server is the default', async () => {
  const git = await serveGit()
  const network = makeRepository(git.root, 'network')
  network.git('checkout', '-q', '-b', 'trunk')
  network.commit({ 'main.tf': '' })
  const created = await send('POST', `organizations/${acme.name}/oauth-clients`, {
    type: 'oauth-clients',
    attributes: {
      'service-provider': 'git',
      'http-url': git.url,
      'oauth-token-username': USER.username,
      'oauth-token-string': USER.password,
    },
  })
  const tokenId = created.json().data.relationships['oauth-tokens'].data[0].id
  const connect = async (identifier: string) => {
    const { id } = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
    const vcsRepo = { identifier, 'oauth-token-id': tokenId }
    const connected = await send('PATCH', `workspaces/${id}`, {
      type: 'workspaces',
      attributes: { 'vcs-repo': vcsRepo },
    })
    await app.runJobs()
    return storedRepository(connected.json().data.attributes['vcs-repo']['webhook-url'])
  }

  expect(await connect('network')).toMatchObject({ default_branch: 'trunk', webhook_error: null })
  expect((await connect('missing'))?.read_error).toContain('missing')
})
