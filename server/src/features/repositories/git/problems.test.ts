import { USER, makeRepository, serveGit } from '@groundstate/agent/testing/git-server'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { connectRepository } from '../testing/connected-repository.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)

async function send(method: 'GET' | 'POST' | 'PATCH', path: string, data?: unknown) {
  const request = { method, url: `/api/v2/${path}`, token: owner.token }
  const response = await app.request({ ...request, ...(data !== undefined && { body: { data } }) })
  expect(response.status).toBeLessThan(300)
  return response.json().data
}

/** A connection to a git server, whose user has the password `password`; none at all for null. */
async function connectGit(password: string | null, { isDown = false } = {}) {
  const host = { isDown }
  const server = await serveGit({
    intercept: (_, response) => {
      if (host.isDown) response.writeHead(503).end()
      return host.isDown
    },
  })
  const { name: organization } = await createOrganization(app, owner)
  const credentials = password === null ? {} : { 'oauth-token-username': USER.username, 'oauth-token-string': password }
  const client = await send('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes: { 'service-provider': 'git', 'http-url': server.url, ...credentials },
  })
  const connection = `oauth-clients/${client.id}`
  return {
    host,
    makeRepository: (identifier: string) => makeRepository(server.root, identifier),
    read: async () => (await send('GET', connection)).attributes,
    check: async () => (await send('POST', `${connection}/actions/test`)).attributes,
    repositories: async () => send('GET', `${connection}/vcs-repositories`),
    events: async (): Promise<string[]> => {
      const events = await send('GET', `organizations/${organization}/vcs-events`)
      return events.map(({ attributes }: { attributes: { message: string } }) => attributes.message)
    },
    replacePassword: async (text: string) => {
      const attributes = { 'oauth-token-username': USER.username, 'oauth-token-string': text }
      await send('PATCH', connection, { type: 'oauth-clients', attributes })
      await app.runJobs()
    },
    async addWorkspace(vcsRepo: object) {
      const { id } = await createWorkspace(app, { organization, actor: owner.actor })
      const tokenId = client.relationships['oauth-tokens'].data[0].id
      const attributes = { 'vcs-repo': { 'oauth-token-id': tokenId, ...vcsRepo } }
      await send('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })
      await app.runJobs()
      return { problem: async () => (await send('GET', `workspaces/${id}`)).attributes['vcs-repo-problem'] }
    },
  }
}

test('a branch that the repository lacks is shown with the workspace, until it exists', async () => {
  const { makeRepository, addWorkspace, check, events } = await connectGit(USER.password)
  const network = makeRepository('network')
  const empty = makeRepository('empty')
  network.commit({ 'main.tf': '' })

  const gone = await addWorkspace({ identifier: 'network', branch: 'gone' })
  const main = await addWorkspace({ identifier: 'network' })
  const unborn = await addWorkspace({ identifier: 'empty' })
  const early = [await gone.problem(), await main.problem(), await unborn.problem()]
  network.git('branch', 'gone')
  empty.commit({ 'main.tf': '' })
  await check()

  expect(early).toEqual(['network has no branch gone', null, 'empty has no commits'])
  expect(await events()).toEqual(['network has no branch gone, which a workspace follows'])
  expect(await gone.problem()).toBeNull()
})

test('a repository that cannot be read is shown, until a new password is accepted', async () => {
  const { makeRepository, addWorkspace, check, repositories, replacePassword } = await connectGit('wrong')
  makeRepository('network').commit({ 'main.tf': '' })

  const workspace = await addWorkspace({ identifier: 'network' })
  const [problem, refused] = [await workspace.problem(), await check()]
  await replacePassword(USER.password)
  const [repository] = await repositories()

  expect(problem).toContain('refused the user name and password')
  expect(refused).toMatchObject({ result: 'refused', message: problem })
  expect(repository.attributes).toMatchObject({ 'webhook-error': null, 'default-branch': 'main' })
  expect(await workspace.problem()).toBeNull()
})

test('a repository that is created later is read by the next test', async () => {
  const { makeRepository, addWorkspace, check, events } = await connectGit(USER.password)
  const untested = await check()
  const workspace = await addWorkspace({ identifier: 'later' })
  const problem = await workspace.problem()
  makeRepository('later').commit({ 'main.tf': '' })

  const accepted = await check()

  expect(untested).toMatchObject({ result: 'untested', message: expect.stringContaining('no workspace uses') })
  expect(problem).toContain('is not a repository')
  expect(new Set(await events())).toEqual(new Set([problem]))
  expect(accepted).toEqual({ result: 'accepted', 'service-provider-user': null, message: 'git can read later' })
  expect(await workspace.problem()).toBeNull()
})

test('a git server that does not answer is shown with its connection', async () => {
  const { host, makeRepository, addWorkspace, check, read } = await connectGit(USER.password, { isDown: true })
  makeRepository('network').commit({ 'main.tf': '' })

  await addWorkspace({ identifier: 'network' })
  const [down, test] = [await read(), await check()]
  host.isDown = false
  await check()

  expect(down).toMatchObject({
    status: 'connected',
    'status-message': expect.stringMatching(/^the host could not be reached since \d.*503/),
  })
  expect(test.result).toBe('unreachable')
  expect((await read())['status-message']).toBeNull()
})

test('a host whose API does not answer is shown with its connection', async () => {
  const { reply, request, clientId } = await connectRepository(app, owner)
  const read = async () => (await request('GET', `oauth-clients/${clientId}`)).json().data.attributes
  reply('GET /user', { status: 502 })

  await app.runJobs()

  expect(await read()).toMatchObject({ status: 'connected', 'status-message': expect.stringContaining('502') })
})

test('a public git server is read without credentials', async () => {
  const { makeRepository, addWorkspace, check, read } = await connectGit(null)
  makeRepository('public/network').commit({ 'main.tf': '' })

  const workspace = await addWorkspace({ identifier: 'public/network' })

  expect(await workspace.problem()).toBeNull()
  expect((await check()).result).toBe('accepted')
  expect((await read()).status).toBe('connected')
})
