import { createHmac, generateKeyPairSync } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { push, repository } from '../../../vcs-hosts/github/testing/bodies.ts'
import { type HostRoutes, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { logRequests } from '../commit-statuses/log.ts'
import { openConnectionOf } from './connection.ts'

const pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs1', format: 'pem' })
  .toString()
const SECRET = 'webhook-s3cret'

const API = '/api/v3'
const INSTALLATION = {
  id: 5,
  account: { login: 'acme', avatar_url: 'https://avatars.example/5', type: 'Organization' },
  html_url: 'https://github.example/organizations/acme/settings/installations/5',
  target_type: 'Organization',
  suspended_at: null,
}
const USABLE: HostRoutes = {
  'POST /login/oauth/access_token': () => ({ body: { access_token: 'ghu_user', token_type: 'bearer' } }),
  [`GET ${API}/user/installations`]: () => ({ body: { total_count: 1, installations: [INSTALLATION] } }),
  [`GET ${API}/user/installations/5/repositories`]: () => ({ body: { total_count: 1, repositories: [] } }),
  [`GET ${API}/app/installations/5`]: () => ({ body: INSTALLATION }),
  [`POST ${API}/app/installations/5/access_tokens`]: () => ({ status: 201, body: { token: 'ghs_installation' } }),
  [`GET ${API}/installation/repositories`]: () => ({ body: { total_count: 1, repositories: [repository()] } }),
  [`GET ${API}/repos/acme/network`]: () => ({ body: repository() }),
}

/** A server with a GitHub App, and an organization with its owner in a browser. */
async function setUp(routes: HostRoutes = USABLE) {
  const host = await startFakeHost(routes)
  const app = await createTestApp({
    GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
    GROUNDSTATE_GITHUB_APP_ID: '29310',
    GROUNDSTATE_GITHUB_APP_SLUG: 'groundstate',
    GROUNDSTATE_GITHUB_APP_URL: host.url,
    GROUNDSTATE_GITHUB_APP_PRIVATE_KEY: pem.replaceAll('\n', String.raw`\n`),
    GROUNDSTATE_GITHUB_APP_CLIENT_ID: 'Iv1.client',
    GROUNDSTATE_GITHUB_APP_CLIENT_SECRET: 'client-s3cret',
    GROUNDSTATE_GITHUB_APP_WEBHOOK_SECRET: SECRET,
  })
  const owner = await createUser(app)
  const acme = await createOrganization(app, owner)
  const browser = await createBrowser(app, owner.id)
  const visit = async (url: string) => browser.request({ url, headers: { origin: '' } })
  const start = async (organization = acme.name) => {
    const started = await visit(`/github-app/connect?organization=${organization}`)
    return new URL(String(started.headers['location']))
  }
  const finish = async (url: URL, query = 'code=the-code&installation_id=5&setup_action=install') =>
    visit(`/github-app/setup?${query}&state=${url.searchParams.get('state')}`)
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown, token = owner.token) =>
    app.request({ method, url: `/api/v2/${path}`, token, ...(data !== undefined && { body: { data } }) })
  const list = async (path = `organizations/${acme.name}/github-app-installations`) =>
    (await send('GET', path)).json().data
  const install = async () => {
    await finish(await start())
    return (await list())[0]
  }
  const addWorkspace = async (installationId: string, organization = acme.name) => {
    const workspace = await createWorkspace(app, { organization, actor: owner.actor })
    const vcsRepo = { identifier: 'acme/network', 'github-app-installation-id': installationId, branch: 'main' }
    const attributes = { 'queue-all-runs': true, 'vcs-repo': vcsRepo }
    const connected = await send('PATCH', `workspaces/${workspace.id}`, { type: 'workspaces', attributes })
    expect(connected.status).toBe(200)
    return { id: workspace.id, vcsRepo: connected.json().data.attributes['vcs-repo'] }
  }
  const deliver = async (event: string, content: object, secret = SECRET) => {
    const body = Buffer.from(JSON.stringify(content))
    const headers = {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': 'delivery-1',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    }
    return app.request({ method: 'POST', url: '/webhooks/github-app', headers, body })
  }
  return { app, host, owner, acme, visit, start, finish, send, list, install, addWorkspace, deliver }
}

test('a person installs the app for an organization', async () => {
  const { host, acme, start, finish, list, send } = await setUp()

  const url = await start()
  const finished = await finish(url)
  const [installation] = await list()
  const shown = await send('GET', `github-app/installation/${installation.id}`)
  const named = await list('github-app/installations?filter[name]=ACME&filter[installation_id]=5')
  const other = await list('github-app/installations?filter[name]=other')
  const repositories = await send('GET', `github-app-installations/${installation.id}/repos`)

  expect(`${url.origin}${url.pathname}`).toBe(`${host.url}/github-apps/groundstate/installations/new`)
  expect([finished.status, finished.headers['location']]).toEqual([303, `/app/${acme.name}/connections`])
  expect(installation).toEqual({
    id: expect.stringMatching(/^ghain-/),
    type: 'github-app-installations',
    attributes: {
      name: 'acme',
      'installation-id': 5,
      'icon-url': 'https://avatars.example/5',
      'installation-type': 'Organization',
      'installation-url': INSTALLATION.html_url,
      'status-message': null,
    },
  })
  expect([shown.json().data, named]).toEqual([installation, [installation]])
  expect(other).toEqual([])
  expect(repositories.json().data).toMatchObject([{ id: 'acme/network', attributes: { name: 'network' } }])
})

test('a person who may use only some repositories of an installation may not link it', async () => {
  const { host, start, finish, list } = await setUp()
  host.reply(`GET ${API}/installation/repositories`, { body: { total_count: 2, repositories: [] } })

  const refused = await finish(await start())

  expect(refused.status).toBe(403)
  expect(refused.text).toContain('all of its repositories')
  expect(await list()).toEqual([])
})

test('a number in the URL does not give access to the installation of others', async () => {
  const { host, start, finish, list } = await setUp()
  host.reply(`GET ${API}/user/installations`, { body: { total_count: 0, installations: [] } })

  const refused = await finish(await start())
  const denied = await finish(await start(), 'error=access_denied')
  const unnamed = await finish(await start(), 'code=the-code')
  const asking = await finish(await start(), 'code=the-code&setup_action=request')

  expect([refused, denied, unnamed, asking].map(({ status }) => status)).toEqual([403, 403, 422, 409])
  expect(refused.text).toContain('you may not use this installation')
  expect(await list()).toEqual([])
})

test('without a code, GitHub is asked for one before the installation is linked', async () => {
  const { app, host, start, finish, list } = await setUp()

  const first = await finish(await start(), 'installation_id=5&setup_action=update')
  const before = await list()
  const url = new URL(String(first.headers['location']))
  // The number in the second URL is not the one that was chosen.
  const second = await finish(url, 'code=the-code&installation_id=77')

  expect(`${url.origin}${url.pathname}`).toBe(`${host.url}/login/oauth/authorize`)
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    client_id: 'Iv1.client',
    redirect_uri: `${app.baseUrl}/github-app/setup`,
  })
  expect(before).toEqual([])
  expect(second.status).toBe(303)
  expect(await list()).toMatchObject([{ attributes: { 'installation-id': 5 } }])
})

test('a setup works once, and only for those who manage connections', async () => {
  const { app, acme, start, finish, visit } = await setUp()
  const member = await createUser(app)
  await addMember(app, acme.id, member)
  const url = await start()
  await finish(url)

  const again = await finish(url)
  const unknown = await visit('/github-app/setup?code=the-code&installation_id=5')
  const forbidden = await (
    await createBrowser(app, member.id)
  ).request({ url: `/github-app/connect?organization=${acme.name}` })

  expect([again, unknown, forbidden].map(({ status }) => status)).toEqual([401, 401, 403])
})

test('a workspace uses a repository of an installation, with tokens of the installation', async () => {
  const { app, host, owner, install, addWorkspace } = await setUp()
  const { id } = await install()

  const { vcsRepo } = await addWorkspace(id)
  await app.runJobs()
  const stored = await app.db.selectFrom('repositories').selectAll().executeTakeFirstOrThrow()
  const { host: kind, access } = await openConnectionOf(app.as(owner.actor), stored)

  expect(vcsRepo).toMatchObject({
    'github-app-installation-id': id,
    'service-provider': 'github_enterprise',
    'repository-http-url': `${host.url}/acme/network`,
  })
  expect(stored).toMatchObject({ default_branch: 'main', webhook_id: null, webhook_error: null })
  expect(kind.gitCredential(access)).toEqual({ username: 'x-access-token', password: 'ghs_installation' })
  // The app has one webhook for all repositories.
  expect(host.asked().filter((route) => route.includes('/hooks'))).toEqual([])
})

test('the webhook of the app reaches the workspaces of all organizations with the installation', async () => {
  const { app, owner, send, install, addWorkspace, deliver } = await setUp()
  const { id } = await install()
  const beta = await createOrganization(app, owner)
  const linked = await send('POST', `organizations/${beta.name}/github-app-installations/${id}/link-account`)
  const [other] = (await send('GET', `organizations/${beta.name}/github-app-installations`)).json().data
  const [one, two] = [await addWorkspace(id), await addWorkspace(other.id, beta.name)]
  const body = { ...push(), installation: { id: 5 } }

  const refused = await deliver('push', body, 'another')
  const [first, repeated] = [await deliver('push', body), await deliver('push', body)]
  const unused = await deliver('push', { ...body, repository: { ...repository(), full_name: 'acme/other' } })
  const foreign = await deliver('push', { ...body, installation: { id: 6 } })
  const deliveries = await app.db.selectFrom('vcs_deliveries').select(['organization_id', 'status']).execute()

  expect(linked.status).toBe(204)
  expect([refused, first, repeated, unused, foreign].map(({ status }) => status)).toEqual([401, 202, 202, 202, 202])
  expect(deliveries).toHaveLength(2)
  expect(deliveries.every(({ status }) => status === 'pending')).toBe(true)
  await app.runJobs()
  for (const workspace of [one, two]) {
    const decisions = await send('GET', `workspaces/${workspace.id}/vcs-decisions`)
    expect(decisions.json().data).toMatchObject([{ attributes: { reason: 'pushed' } }])
  }
})

test('a webhook of the app is stored for all organizations or none', async () => {
  const { app, owner, send, install, addWorkspace, deliver } = await setUp()
  const { id } = await install()
  const beta = await createOrganization(app, owner)
  await send('POST', `organizations/${beta.name}/github-app-installations/${id}/link-account`)
  const [other] = (await send('GET', `organizations/${beta.name}/github-app-installations`)).json().data
  await addWorkspace(id)
  await addWorkspace(other.id, beta.name)
  await sql`create function refuse_second() returns trigger language plpgsql as $$ begin
    if exists (select from vcs_deliveries) then raise 'the connection is lost'; end if; return new; end $$`.execute(
    app.db,
  )
  await sql`create trigger refuse_second before insert on vcs_deliveries for each row
    execute function refuse_second()`.execute(app.db)

  const received = await deliver('push', { ...push(), installation: { id: 5 } })

  expect(received.status).toBe(500)
  expect(await app.db.selectFrom('vcs_deliveries').select('id').execute()).toEqual([])
})

test('an installation that is removed on GitHub is marked, and replaced by the next one of the account', async () => {
  const { app, host, acme, start, finish, install, list, send, addWorkspace, deliver } = await setUp()
  const { id } = await install()
  await addWorkspace(id)
  const change = (action: string) => deliver('installation', { action, installation: { id: 5 } })

  await change('suspend')
  const [suspended] = await list()
  await change('unsuspend')
  const [usable] = await list()
  await change('deleted')
  const [removed] = await list()
  const events = await send('GET', `organizations/${acme.name}/vcs-events?filter[levels]=error`)
  const next = { ...INSTALLATION, id: 9 }
  host.reply(`GET ${API}/user/installations`, { body: { total_count: 1, installations: [next] } })
  host.reply(`GET ${API}/user/installations/9/repositories`, { body: { total_count: 1, repositories: [] } })
  host.reply(`GET ${API}/app/installations/9`, { body: next })
  host.reply(`POST ${API}/app/installations/9/access_tokens`, { status: 201, body: { token: 'ghs_next' } })
  await finish(await start(), 'code=the-code&installation_id=9')

  expect(suspended.attributes['status-message']).toBe('the GitHub App was suspended on GitHub')
  expect(usable.attributes['status-message']).toBe(null)
  expect(removed.attributes['status-message']).toBe('the GitHub App was removed on GitHub')
  expect(events.json().data.map((event: { attributes: { message: string } }) => event.attributes.message)).toEqual([
    'the GitHub App was removed on GitHub',
    'the GitHub App was suspended on GitHub',
  ])
  expect(await list()).toMatchObject([{ id, attributes: { 'installation-id': 9, 'status-message': null } }])
  expect(await app.db.selectFrom('repositories').select('id').execute()).toHaveLength(1)
})

test('an installation is unlinked, and its workspaces lose the repository', async () => {
  const { send, install, list, addWorkspace } = await setUp()
  const { id } = await install()
  const workspace = await addWorkspace(id)

  const unlinked = await send('DELETE', `github-app/installation/${id}`)
  const after = await send('GET', `workspaces/${workspace.id}`)

  expect(unlinked.status).toBe(204)
  expect(after.json().data.attributes['vcs-repo']).toBe(null)
  expect(await list()).toEqual([])
})

test('members see the installations of their organizations only', async () => {
  const { app, acme, send, install } = await setUp()
  const { id } = await install()
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await addMember(app, acme.id, member)
  const read = async (token: string) => {
    const [list, shown] = [
      await send('GET', 'github-app/installations', undefined, token),
      await send('GET', `github-app/installation/${id}`, undefined, token),
    ]
    return [list.json().data.length, shown.status]
  }

  const repositories = await send('GET', `github-app-installations/${id}/repos`, undefined, member.token)
  const unlinked = await send('DELETE', `github-app/installation/${id}`, undefined, member.token)

  expect(await read(member.token)).toEqual([1, 200])
  expect(await read(stranger.token)).toEqual([0, 404])
  expect([repositories.status, unlinked.status]).toEqual([404, 403])
})

test('requests that set statuses are logged, without those for tokens', async () => {
  const { app, host, install, addWorkspace } = await setUp()
  const { id } = await install()
  const workspace = await addWorkspace(id)
  const sha = '1'.repeat(40)
  const path = `${API}/repos/acme/network/statuses/${sha}`
  host.reply(`POST ${path}`, { status: 201, body: { id: 1 } })
  const connection = await openConnectionOf(app.as(), { oauth_token_id: null, github_app_installation_id: id })
  const reported = { workspace_id: workspace.id, commit_sha: sha, kind: 'run', run: null } as const
  const status = { context: 'plan', state: 'success', description: 'no changes', url: 'https://run' } as const

  await logRequests(app.as(), { connection, reported }, async ({ api }) => api?.setStatus('acme/network', sha, status))

  const logged = await app.db.selectFrom('commit_status_deliveries').select(['url', 'response_status']).execute()
  expect(logged).toEqual([{ url: `${host.url}${path}`, response_status: 201 }])
})
