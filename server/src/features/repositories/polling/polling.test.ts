import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { USER, makeRepository, serveGit } from '@groundstate/agent/testing/git-server'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import * as bodies from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { type HostRoutes, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'
import { schedulePolls } from './jobs.ts'

// Each poll runs all due jobs and several processes of git.
vi.setConfig({ testTimeout: 60_000 })

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)

async function send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown) {
  const request = { method, url: `/api/v2/${path}`, token: owner.token }
  const response = await app.request({ ...request, ...(data !== undefined && { body: { data } }) })
  expect(response.status).toBeLessThan(300)
  return response.status === 204 ? undefined : response.json()
}

/** An organization connected to a host. */
async function connect(attributes: Record<string, unknown>) {
  const { name: organization } = await createOrganization(app, owner)
  const client = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes,
  })
  onTestFinished(async () => void (await send('DELETE', `oauth-clients/${client.data.id}`)))
  const tokenId: string = client.data.relationships['oauth-tokens'].data[0].id
  const addWorkspace = async (
    repository: { identifier: string; branch?: string; 'tags-regex'?: string },
    settings = {},
  ) => {
    const { id } = await createWorkspace(app, { organization, actor: owner.actor })
    const vcsRepo = { 'oauth-token-id': tokenId, ...repository }
    const attributes = { 'queue-all-runs': true, ...settings, 'vcs-repo': vcsRepo }
    const { data } = await send('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })
    await app.runJobs()
    return { id, url: data.attributes['vcs-repo']['webhook-url'] as string }
  }
  const log = async () => {
    const { data } = await send('GET', `organizations/${organization}/vcs-deliveries`)
    return data.map(
      ({ attributes }: { attributes: Record<string, string> }) => `${attributes['source']}: ${attributes['title']}`,
    )
  }
  return { organization, clientId: client.data.id as string, addWorkspace, log }
}

/** A plain git server with a repository. */
async function connectGit(options: Parameters<typeof serveGit>[0] = {}) {
  const server = await serveGit(options)
  const repository = makeRepository(server.root, 'acme/network')
  repository.commit({ 'main.tf': '' }, 'Start')
  const connection = await connect({
    'service-provider': 'git',
    'http-url': server.url,
    'oauth-token-string': USER.password,
    'oauth-token-username': USER.username,
  })
  return { ...connection, server, repository }
}

/** A minute passes, in which all due repositories are polled. */
async function poll(minutes = 1) {
  app.clock.advance(minutes * 60_000)
  await schedulePolls(app.as())
  app.clock.advance(60_000)
  await app.runJobs()
}

/** Runs that deliveries have started; the first run of a workspace is of the commit that its branch had then. */
async function runsOf(workspaceId: string) {
  const { data } = await send('GET', `workspaces/${workspaceId}/runs`)
  return data
    .map(({ attributes }: { attributes: Record<string, unknown> }) => ({
      message: attributes['message'],
      planOnly: attributes['plan-only'],
    }))
    .filter(({ message }: { message: string }) => message !== 'Queued when the repository was connected')
}

test('the first poll starts nothing, and later ones find pushes and tags', async () => {
  const { addWorkspace, repository, log } = await connectGit()
  const main = await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  const tags = await addWorkspace({ identifier: 'acme/network', 'tags-regex': '^v' })

  await poll()
  const first = await log()
  repository.commit({ 'main.tf': 'a' }, 'Add a subnet')
  repository.git('tag', 'v1')
  repository.git('branch', 'feature')
  await poll()
  await poll()

  expect(first).toEqual([])
  expect((await log()).toSorted()).toEqual(['polling: push to feature', 'polling: push to main', 'polling: tag v1'])
  expect(await runsOf(main.id)).toEqual([{ message: 'Add a subnet', planOnly: false }])
  expect(await runsOf(tags.id)).toEqual([{ message: 'Add a subnet', planOnly: false }])
})

test('a push of a commit that git refuses is found, and its run says why it cannot start', async () => {
  const { addWorkspace, repository, log } = await connectGit()
  const { id } = await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  await poll()
  const commit = `tree ${repository.git('rev-parse', 'HEAD^{tree}')}\nauthor Ada 1 +0000\ncommitter Ada 1 +0000\n\nBroken\n`
  writeFileSync(join(repository.directory, 'broken'), commit)
  const sha = repository.git('hash-object', '-t', 'commit', '-w', '--literally', 'broken')
  repository.git('update-ref', 'refs/heads/main', sha)

  await poll()
  const [run] = (await send('GET', `workspaces/${id}/runs`)).data
  const version = run.relationships['configuration-version'].data.id
  const { attributes } = (await send('GET', `configuration-versions/${version}`)).data

  expect(await log()).toEqual(['polling: push to main'])
  expect(attributes['error-message']).toMatch(/cannot be fetched from acme\/network: .*malformed/)
})

test('a push that a webhook reports before or after a poll starts one run', async () => {
  const { addWorkspace, repository, log } = await connectGit()
  const { id, url } = await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  await poll()
  const before = repository.git('rev-parse', 'HEAD')

  const first = repository.commit({ 'main.tf': 'a' }, 'First')
  await deliver(url, { before, after: first })
  await poll(11)
  const second = repository.commit({ 'main.tf': 'b' }, 'Second')
  await poll(11)
  await deliver(url, { before: first, after: second })
  await app.runJobs()

  expect(await log()).toEqual(['webhook: push to main', 'polling: push to main', 'webhook: push to main'])
  expect(await runsOf(id)).toHaveLength(2)

  async function deliver(webhookUrl: string, push: { before: string; after: string }) {
    const path = new URL(webhookUrl).pathname
    const row = await app.db
      .selectFrom('repositories')
      .selectAll()
      .where('webhook_path', '=', path.split('/').at(-1) ?? '')
      .executeTakeFirstOrThrow()
    const secret = app.secrets.openText(row.webhook_secret, webhookContext(row.id))
    const body = Buffer.from(JSON.stringify({ ref: 'refs/heads/main', ...push }))
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-groundstate-signature': signature }
    const response = await app.request({ method: 'POST', url: path, headers, body })
    expect(response.status).toBe(202)
  }
})

test('a repository that cannot be read is asked less and less often, and others all the same', async () => {
  let isDown = false
  const { addWorkspace, repository, server, organization } = await connectGit({
    intercept: (request, response) => {
      const refuses = isDown || (request.url ?? '').startsWith('/acme/gone')
      if (refuses) response.writeHead(isDown ? 503 : 404).end()
      return refuses
    },
  })
  const { id } = await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  await addWorkspace({ identifier: 'acme/gone', branch: 'main' }, { 'queue-all-runs': false })
  const asked = (name: string) => server.requests.filter(({ path }) => path.startsWith(`/acme/${name}`)).length
  await poll()
  const before = asked('gone')

  for (let minute = 0; minute < 6; minute += 1) await poll(0)
  const attempts = asked('gone') - before
  isDown = true
  repository.commit({ 'main.tf': 'a' }, 'Add a subnet')
  await poll()
  await poll()
  const whileDown = await runsOf(id)
  isDown = false
  await poll(5)
  const events = await send('GET', `organizations/${organization}/vcs-events`)

  expect(attempts).toBeLessThan(4)
  expect(whileDown).toEqual([])
  expect(await runsOf(id)).toHaveLength(1)
  const messages = events.data.map(({ attributes }: { attributes: { message: string } }) => attributes.message)
  expect(messages.filter((message: string) => message.includes('could not poll acme/gone'))).toHaveLength(1)
})

test('polls that have not started are not enqueued again', async () => {
  const { addWorkspace, repository, log } = await connectGit()
  await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  await poll()
  const waiting = sql`select from pgboss.job where name = 'repositories.poll' and state = 'created'`

  for (let minute = 0; minute < 5; minute += 1) {
    app.clock.advance(60_000)
    await schedulePolls(app.as())
  }
  const { rows } = await waiting.execute(app.db)
  await app.runJobs()
  repository.commit({ 'main.tf': 'a' })
  await poll()

  expect(rows).toHaveLength(1)
  expect(await log()).toEqual(['polling: push to main'])
})

test('a host that is down is asked less and less often, however many repositories it has', async () => {
  let isDown = false
  const { addWorkspace, server } = await connectGit({
    intercept: (_, response) => {
      if (isDown) response.writeHead(503).end()
      return isDown
    },
  })
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    makeRepository(server.root, `acme/${name}`)
    await addWorkspace({ identifier: `acme/${name}`, branch: 'main' }, { 'queue-all-runs': false })
  }
  await poll()
  let attempts = 0

  isDown = true
  for (let minute = 0; minute < 10; minute += 1) {
    const before = server.requests.length
    await poll(0)
    if (server.requests.length > before) attempts += 1
  }
  isDown = false
  await poll(10)
  const afterwards = server.requests.length
  await poll(0)

  expect(attempts).toBeLessThan(5)
  expect(server.requests.length).toBeGreaterThan(afterwards)
})

test('polls resume when the token is replaced', async () => {
  let isRefused = false
  const { addWorkspace, repository, clientId, log } = await connectGit({
    intercept: (_, response) => {
      if (isRefused) response.writeHead(401).end()
      return isRefused
    },
  })
  await addWorkspace({ identifier: 'acme/network', branch: 'main' })
  await poll()
  repository.commit({ 'main.tf': 'a' })
  isRefused = true
  for (let minute = 0; minute < 10; minute += 1) await poll(0)
  isRefused = false

  await poll(0)
  const early = await log()
  const attributes = { 'oauth-token-username': USER.username, 'oauth-token-string': USER.password }
  await send('PATCH', `oauth-clients/${clientId}`, { type: 'oauth-clients', attributes })
  await poll(0)

  expect([early, await log()]).toEqual([[], ['polling: push to main']])
})

const PULLS = '/api/v1/repos/acme/network/pulls'

/** A host with pull requests, whose repository is served by git. `routes` override what it says. */
async function connectGitea(routes: HostRoutes = {}, polls = true) {
  const server = await serveGit()
  const repository = makeRepository(server.root, 'public/acme/network')
  const start = repository.commit({ 'main.tf': '' }, 'Start')
  const host = await startFakeHost({
    'GET /api/v1/user': () => ({ body: bodies.mona }),
    'GET /api/v1/repos/acme/network': () => ({
      body: { ...bodies.repository(), clone_url: `${server.url}/public/acme/network`, default_branch: 'main' },
    }),
    'GET /api/v1/repos/acme/network/hooks': () => ({ body: [] }),
    'POST /api/v1/repos/acme/network/hooks': ({ body }) => ({ status: 201, body: { id: 7, ...(body as object) } }),
    [`GET ${PULLS}`]: () => ({ body: [] }),
    ...routes,
  })
  const connection = await connect({
    'service-provider': 'gitea',
    'http-url': host.url,
    'oauth-token-string': 'gta_secret',
    'polling-enabled': polls,
  })
  return { ...connection, host, server, repository, start }
}

test('pull requests are found when they are opened, updated, closed and merged', async () => {
  const { addWorkspace, host, repository, start, log } = await connectGitea()
  const { id } = await addWorkspace({ identifier: 'acme/network' })
  await poll()
  repository.git('checkout', '--quiet', '-b', 'add-subnet')
  const head = repository.commit({ 'a.tf': '' }, 'Add a subnet')
  const { head: headBranch, base } = bodies.pullRequest()
  const pull = (sha: string, changes: Record<string, unknown> = {}) =>
    bodies.pullRequest({ head: { ...headBranch, sha }, base: { ...base, sha: start }, ...changes })

  host.reply(`GET ${PULLS}`, { body: [pull(head)] })
  await poll()
  const opened = await runsOf(id)
  const next = repository.commit({ 'b.tf': '' }, 'Add another')
  host.reply(`GET ${PULLS}`, { body: [pull(next)] })
  await poll()
  const updated = await runsOf(id)
  const ended = { state: 'closed', merged: true, merged_at: '2026-11-20T10:00:00Z', merge_commit_sha: head }
  host.reply(`GET ${PULLS}`, { body: [] })
  host.reply(`GET ${PULLS}/7`, { body: pull(next, ended) })
  await poll()

  expect(opened).toEqual([expect.objectContaining({ planOnly: true })])
  expect(updated).toHaveLength(2)
  const pulls = (await log()).filter((line: string) => line.includes('#7'))
  expect(pulls).toHaveLength(3)
  const { data } = await send('GET', `workspaces/${id}/vcs-decisions`)
  const reasons = data.map(({ attributes }: { attributes: { reason: string } }) => attributes.reason)
  expect(reasons.filter((reason: string) => reason.startsWith('pull-request'))).toEqual([
    'pull-request-closed',
    'pull-request',
    'pull-request',
  ])
})

test('branches are polled although the token may not read pull requests', async () => {
  const forbidden = () => ({ status: 403, body: { message: 'token does not have the scope read:repository' } })
  const { addWorkspace, repository, log } = await connectGitea({ [`GET ${PULLS}`]: forbidden })
  const { id } = await addWorkspace({ identifier: 'acme/network' })
  await poll()

  const sha = repository.commit({ 'a.tf': '' }, 'Add a subnet')
  await poll()
  const path = `workspaces/${id}/runs?include=configuration_version.ingress_attributes`
  const { included } = await send('GET', path)

  expect(await log()).toEqual(['polling: push to main'])
  const urls = included.map(({ attributes }: { attributes: Record<string, string> }) => attributes['commit-url'])
  expect(urls).toContain(`${bodies.repository().html_url}/commit/${sha}`)
})

test('a rate limit stops the polls of the connection until it ends', async () => {
  const limited = () => ({ status: 429, headers: { 'retry-after': '600' }, body: { message: 'slow down' } })
  const { addWorkspace, host } = await connectGitea({ [`GET ${PULLS}`]: limited })
  await addWorkspace({ identifier: 'acme/network' })
  const asked = () => host.asked().filter((route) => route === `GET ${PULLS}`).length

  await poll()
  await poll()
  const duringLimit = asked()
  await poll(10)

  expect([duringLimit, asked()]).toEqual([1, 2])
})

test('a connection with webhooks is not polled unless it asks for it', async () => {
  const { addWorkspace, host, clientId } = await connectGitea({}, false)
  await addWorkspace({ identifier: 'acme/network' })
  const asked = () => host.asked().filter((route) => route === `GET ${PULLS}`).length

  await poll()
  const before = asked()
  await send('PATCH', `oauth-clients/${clientId}`, { type: 'oauth-clients', attributes: { 'polling-enabled': true } })
  await poll()

  expect([before, asked()]).toEqual([0, 1])
})

test('the repositories of a connection are polled at most two at a time', async () => {
  let [running, most] = [0, 0]
  const { addWorkspace, server } = await connectGit({
    intercept: (request, response) => {
      if (!(request.url ?? '').includes('info/refs')) return false
      most = Math.max(most, (running += 1))
      response.on('close', () => (running -= 1))
      return false
    },
  })
  for (const name of ['a', 'b', 'c', 'd']) {
    makeRepository(server.root, `acme/${name}`).commit({ 'main.tf': '' })
    await addWorkspace({ identifier: `acme/${name}` }, { 'queue-all-runs': false })
  }
  most = 0

  await poll()

  const polled = await app.db
    .selectFrom('repositories')
    .select('identifier')
    .where('polled_at', 'is not', null)
    .execute()
  expect(polled.map(({ identifier }) => identifier)).toEqual(expect.arrayContaining(['acme/a', 'acme/d']))
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(2)
})
