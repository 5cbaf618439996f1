import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { push, repository, webhookRequest } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { type HostRoutes, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'
import { vcsEventJobs } from './routes.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)

type Method = 'GET' | 'POST' | 'PATCH'
async function send(method: Method, path: string, data?: unknown, token = owner.token) {
  return app.request({ method, url: `/api/v2/${path}`, token, ...(data !== undefined && { body: { data } }) })
}

const USER: HostRoutes = { 'GET /api/v1/user': () => ({ body: { id: 1, login: 'mona' } }) }

/** An organization with a connection to a host. */
async function connect(routes: HostRoutes = USER) {
  const { name: organization, id: organizationId } = await createOrganization(app, owner)
  const host = await startFakeHost(routes)
  const attributes = { 'service-provider': 'gitea', 'http-url': host.url, 'oauth-token-string': 'gta_secret' }
  const created = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  const { id, relationships } = created.json().data
  const list = async (query = '', token = owner.token) =>
    send('GET', `organizations/${organization}/vcs-events${query}`, undefined, token)
  return {
    host,
    organization,
    organizationId,
    id: id as string,
    tokenId: relationships['oauth-tokens'].data[0].id as string,
    list,
    messages: async (query?: string) =>
      (await list(query)).json().data.map(({ attributes: a }: { attributes: { message: string } }) => a.message),
    check: async () => send('POST', `oauth-clients/${id}/actions/test`),
  }
}

test('a refused token and its acceptance are recorded once each', async () => {
  const { host, id, tokenId, list, check } = await connect({
    'GET /api/v1/user': () => ({ status: 401, body: { message: 'token is revoked' } }),
  })
  await app.runJobs()
  await check()
  app.clock.advance(1000)
  host.reply('GET /api/v1/user', { body: { id: 1, login: 'mona' } })
  await check()
  await check()

  const events = await list('?include=oauth_client')
  const errors = await list('?filter[levels]=error')

  expect(events.json().data).toHaveLength(2)
  expect(events.json().data[0].attributes).toMatchObject({ level: 'info', 'suggested-action': null })
  expect(events.json().data[1]).toMatchObject({
    type: 'vcs-events',
    attributes: {
      level: 'error',
      message: expect.stringContaining('token is revoked'),
      'suggested-action': expect.stringContaining('Replace the token'),
    },
    relationships: {
      'oauth-client': { data: { id, type: 'oauth-clients' } },
      'oauth-token': { data: { id: tokenId, type: 'oauth-tokens' } },
    },
  })
  expect(events.json().included.map((client: { id: string }) => client.id)).toEqual([id])
  expect(errors.json().data.map((event: { id: string }) => event.id)).toEqual([events.json().data[1].id])
})

test('a rate limit is recorded when it begins', async () => {
  const { messages, check } = await connect({
    'GET /api/v1/user': () => ({ status: 429, headers: { 'retry-after': '60' }, body: {} }),
  })

  await check()
  await check()
  const first = await messages()
  app.clock.advance(61_000)
  await check()

  expect(first).toEqual([expect.stringContaining('limits requests: none is sent before')])
  expect(await messages()).toHaveLength(2)
})

async function addRepository(tokenId: string, organization: string) {
  const workspace = await createWorkspace(app, { organization, actor: owner.actor })
  const connected = await send('PATCH', `workspaces/${workspace.id}`, {
    type: 'workspaces',
    attributes: { 'vcs-repo': { identifier: 'acme/network', 'oauth-token-id': tokenId } },
  })
  expect(connected.status).toBe(200)
  return connected.json().data.attributes['vcs-repo']['webhook-url'] as string
}

test('a webhook that cannot be created is recorded, not each attempt', async () => {
  const { tokenId, organization, messages } = await connect({
    ...USER,
    'GET /api/v1/repos/acme/network': () => ({ body: repository() }),
    'GET /api/v1/repos/acme/network/hooks': () => ({ body: [] }),
    'POST /api/v1/repos/acme/network/hooks': () => ({ status: 503, body: { message: 'maintenance' } }),
  })
  await addRepository(tokenId, organization)

  await app.runJobs()
  app.clock.advance(3_600_000)
  await app.runJobs()

  // The host of the test has no git.
  const found = (await messages()).filter((message: string) => !message.includes('is not a repository'))
  expect(found).toEqual([expect.stringContaining('maintenance')])
})

test('a webhook of another repository is recorded, one with a wrong signature is not', async () => {
  const { tokenId, organization, messages } = await connect()
  const url = await addRepository(tokenId, organization)
  const row = await app.db
    .selectFrom('repositories')
    .select(['id', 'webhook_secret'])
    .where('webhook_path', '=', url.split('/').at(-1) ?? '')
    .executeTakeFirstOrThrow()
  const secret = app.secrets.openText(row.webhook_secret, webhookContext(row.id))
  const deliver = async (key: string) => {
    const body = { ...push(), repository: { ...repository(), full_name: 'acme/other' } }
    const webhook = webhookRequest('push', body, { secret: key, id: 'one' })
    return app.request({ ...webhook, url: new URL(url).pathname, body: Buffer.from(webhook.body) })
  }

  const refused = await deliver('another')
  const before = await messages()
  const unknown = [await deliver(secret), await deliver(secret)]

  expect(refused.status).toBe(401)
  expect(before).toEqual([])
  expect(unknown.map(({ status }) => status)).toEqual([404, 404])
  expect(await messages()).toEqual([expect.stringContaining('reported the repository acme/other')])
})

test('events are listed by time and connection, and kept for 30 days', async () => {
  const { id, organizationId, messages } = await connect()
  const insert = async (name: string, days: number, clientId: string | null) =>
    app.db
      .insertInto('vcs_events')
      .values({
        id: `vcse-${organizationId}-${name}`,
        organization_id: organizationId,
        oauth_client_id: clientId,
        level: 'error',
        message: name,
        created_at: new Date(app.clock.now().getTime() - days * 86_400_000),
      })
      .execute()
  await insert('new', 1, id)
  await insert('other', 2, null)
  await insert('old', 20, id)
  await insert('ancient', 31, id)
  const at = (days: number) => new Date(app.clock.now().getTime() - days * 86_400_000).toISOString()

  const listed = await messages()
  const older = await messages(`?filter[from]=${at(40)}&filter[to]=${at(10)}`)
  const own = await messages(`?filter[oauth_client_external_ids]=${id},oc-other`)
  await vcsEventJobs[0]?.run(app.as(), {}, new AbortController().signal)

  expect(listed).toEqual(['new', 'other'])
  expect(older).toEqual(['old', 'ancient'])
  expect(own).toEqual(['new'])
  expect(await messages(`?filter[from]=${at(40)}`)).toEqual(['new', 'other', 'old'])
})

test('members see events, strangers do not', async () => {
  const { organizationId, list } = await connect()
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await addMember(app, organizationId, member)

  const [read, hidden] = [await list('', member.token), await list('', stranger.token)]

  expect([read.status, hidden.status]).toEqual([200, 404])
})
