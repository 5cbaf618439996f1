import { expect, test } from 'vitest'
import { startFakeHost } from '../testing/fake-host.ts'
import { azureDevops } from './api.ts'
import { fork, NEW, pullRequest, repository } from './testing/bodies.ts'

const ID = 'fabrikam/Fiber Plant/_git/network'
const PATH = '/fabrikam/Fiber%20Plant/_apis/git/repositories/network'
const HOOKS = '/fabrikam/_apis/hooks/subscriptions'
const PROFILES = '/profiles'

/** The addresses of Azure DevOps Services lead to the local server. */
async function setUp(httpUrl = 'https://dev.azure.com') {
  const host = await startFakeHost()
  const toLocal: typeof fetch = async (input, init) => {
    const url = (input as string)
      .replace('https://dev.azure.com', host.url)
      .replace('https://app.vssps.visualstudio.com', `${host.url}${PROFILES}`)
    return fetch(url, init)
  }
  const address = httpUrl === 'server' ? `${host.url}/tfs` : httpUrl
  const api = azureDevops.api?.({ ...host.connection, httpUrl: address, apiUrl: address, fetch: toLocal })
  if (!api) throw new Error('Azure DevOps has an API')
  return { host, api, reply: host.reply }
}

test('the user and the organizations of a token are in the directory', async () => {
  const { host, api, reply } = await setUp()
  reply(`GET ${PROFILES}/_apis/profile/profiles/me`, { body: { id: 'p1', displayName: 'Jamal Hartnett' } })
  reply(`GET ${PROFILES}/_apis/accounts`, { body: { count: 1, value: [{ accountName: 'fabrikam' }] } })

  expect(await api.readUser()).toBe('Jamal Hartnett')
  expect(await api.listOwners()).toEqual(['fabrikam'])
  expect(host.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from(':the-token').toString('base64')}`)
  expect(host.requests.at(-1)?.query['memberId']).toBe('p1')
})

test('a token of one organization is used with its address', async () => {
  const { api, reply } = await setUp('https://dev.azure.com/fabrikam')
  reply('GET /fabrikam/_apis/connectionData', {
    body: { authenticatedUser: { providerDisplayName: 'Jamal Hartnett' } },
  })
  reply(`GET ${PATH}`, { body: repository })

  expect(await api.readUser()).toBe('Jamal Hartnett')
  expect(await api.listOwners()).toEqual(['fabrikam'])
  expect(await api.findRepository(ID)).toMatchObject({ identifier: ID })
})

test('a self-hosted server has collections', async () => {
  const { api, reply } = await setUp('server')
  reply('GET /tfs/_apis/connectionData', { body: { authenticatedUser: { providerDisplayName: 'Jamal Hartnett' } } })
  reply('GET /tfs/_apis/projectCollections', { body: { value: [{ name: 'DefaultCollection' }] } })

  expect(await api.readUser()).toBe('Jamal Hartnett')
  expect(await api.listOwners()).toEqual(['DefaultCollection'])
})

test.each([
  { status: 203, body: '<html>Sign in</html>' },
  { status: 302, headers: { location: '/_signin?realm=dev.azure.com' }, body: '' },
])('a page to sign in means that the token is refused', async (answer) => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}`, answer)
  reply('GET /_signin', { body: '<html>Sign in</html>' })

  reply(`POST ${PATH}/commits/${NEW}/statuses`, answer)
  const status = { context: 'a', state: 'pending', description: '', url: 'https://g.example' } as const

  await expect(api.findRepository(ID)).rejects.toMatchObject({ kind: 'unauthorised' })
  await expect(api.setStatus(ID, NEW, status)).rejects.toMatchObject({ kind: 'unauthorised' })
})

test('repositories of all organizations are searched', async () => {
  const { api, reply } = await setUp('https://dev.azure.com/fabrikam')
  const named = (name: string) => ({ ...repository, name, remoteUrl: repository.remoteUrl.replace(/network$/, name) })
  reply('GET /fabrikam/_apis/git/repositories', {
    body: {
      value: [named('network-a'), named('docs'), named('network-b'), { ...named('network-c'), isDisabled: true }],
    },
  })

  const first = await api.listRepositories({ query: 'NETWORK', page: 1, size: 1 })
  const second = await api.listRepositories({ query: 'network', page: 2, size: 1 })

  expect(first).toMatchObject({ rows: [{ identifier: 'fabrikam/Fiber Plant/_git/network-a' }], nextPage: 2 })
  expect(second).toMatchObject({ rows: [{ identifier: 'fabrikam/Fiber Plant/_git/network-b' }], nextPage: null })
})

test('a repository is found by its identifier, with spaces or their code', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}`, { body: repository })

  const expected = {
    identifier: ID,
    displayIdentifier: ID,
    page: repository.webUrl,
    clone: repository.webUrl,
    ssh: repository.sshUrl,
    defaultBranch: 'main',
  }
  expect(await api.findRepository(ID)).toEqual(expected)
  expect(await api.findRepository('fabrikam/Fiber%20Plant/_git/network')).toEqual(expected)
  expect(await api.findRepository('fabrikam/network')).toBeUndefined()
  expect(await api.findRepository('fabrikam/Fiber Plant/_git/missing')).toBeUndefined()
})

test('branches are searched on the host', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}/refs`, { body: { value: [{ name: 'refs/heads/feature/vpn' }] } })

  expect(await api.listBranches(ID, 'vpn')).toEqual(['feature/vpn'])
  expect(host.requests[0]?.query).toMatchObject({ filter: 'heads/', filterContains: 'vpn' })
})

test('a webhook is a service hook for each event, and replaces those with its address', async () => {
  const { api, host, reply } = await setUp()
  const url = 'https://groundstate.example.com/webhooks/vcs/1'
  const other = { id: 'other', consumerInputs: { url: 'https://other.example.com' } }
  reply(`GET ${PATH}`, { body: repository })
  reply(`GET ${HOOKS}`, { body: { value: [other, { id: 'old', consumerInputs: { url } }] } })
  let count = 0
  reply(`POST ${HOOKS}`, () => ({ body: { id: `hook-${++count}`, consumerInputs: { url } } }))

  const id = await api.createWebhook(ID, { url, secret: 's3cret' })
  await api.deleteWebhook(ID, id)

  expect(id).toBe('hook-1,hook-2,hook-3,hook-4')
  const created = host.bodies(`POST ${HOOKS}`) as { eventType: string; publisherInputs: object }[]
  expect(created.map(({ eventType }) => eventType)).toEqual([
    'git.push',
    'git.pullrequest.created',
    'git.pullrequest.updated',
    'git.pullrequest.updated',
  ])
  expect(created[2]).toMatchObject({
    publisherInputs: {
      projectId: repository.project.id,
      repository: repository.id,
      notificationType: 'PushNotification',
    },
    consumerInputs: { url, basicAuthUsername: 'groundstate', basicAuthPassword: 's3cret' },
  })
  const deletions = host.asked().filter((route) => route.startsWith('DELETE'))
  expect(deletions).toEqual(['old', 'hook-1', 'hook-2', 'hook-3', 'hook-4'].map((hook) => `DELETE ${HOOKS}/${hook}`))
})

test('service hooks that were created before a failure are deleted', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}`, { body: repository })
  reply(`GET ${HOOKS}`, { body: { value: [] } })
  let count = 0
  reply(`POST ${HOOKS}`, () =>
    ++count === 2 ? { status: 403, body: { message: 'Access denied for s3cret' } } : { body: { id: `hook-${count}` } },
  )

  const created = api.createWebhook(ID, { url: 'https://g.example', secret: 's3cret' })

  await expect(created).rejects.toMatchObject({ kind: 'forbidden', message: expect.stringContaining('denied for ***') })
  expect(host.requests.at(-1)).toMatchObject({ route: `DELETE ${HOOKS}/hook-1` })
})

test('pull requests are listed, and one is read with the message of its head', async () => {
  const { api, reply } = await setUp()
  const { remoteUrl, ...listed } = repository
  reply(`GET ${PATH}`, { body: { ...listed, remoteUrl } })
  reply(`GET ${PATH}/pullrequests`, {
    body: {
      value: [
        { ...pullRequest, repository: listed },
        { ...pullRequest, ...fork, repository: listed },
      ],
    },
  })
  reply(`GET ${PATH}/pullrequests/7`, { body: { ...pullRequest, status: 'completed' } })
  reply(`GET ${PATH}/commits/${NEW}`, { body: { commitId: NEW, comment: 'Add a subnet' } })

  expect(await api.listOpenPullRequests(ID)).toMatchObject([{ isFork: false }, { isFork: true }])
  expect(await api.findPullRequest(ID, 7)).toMatchObject({
    head: { sha: NEW, message: 'Add a subnet' },
    mergeSha: pullRequest.lastMergeCommit.commitId,
  })
  expect(await api.findPullRequest(ID, 9)).toBeUndefined()
})

test('a status has the context in two parts', async () => {
  const { api, host, reply } = await setUp()
  reply(`POST ${PATH}/commits/${NEW}/statuses`, { status: 201, body: {} })

  await api.setStatus(ID, NEW, {
    context: 'groundstate/acme/a',
    state: 'failure',
    description: 'No',
    url: 'https://g.example',
  })

  expect(host.bodies(`POST ${PATH}/commits/${NEW}/statuses`)).toEqual([
    {
      state: 'failed',
      description: 'No',
      targetUrl: 'https://g.example',
      context: { name: 'a', genre: 'groundstate/acme' },
    },
  ])
})

test('a comment is the first one of a closed thread, and can be updated unless it was deleted', async () => {
  const { api, host, reply } = await setUp()
  const threads = `${PATH}/pullrequests/7/threads`
  reply(`POST ${threads}`, { body: { id: 11 } })
  reply(`PATCH ${threads}/11/comments/1`, { body: { id: 1, content: 'Two' } })
  reply(`PATCH ${threads}/9/comments/1`, { body: { id: 1, isDeleted: true } })

  expect(await api.createComment(ID, 7, 'One')).toBe('11')
  expect(await api.updateComment(ID, 7, { id: '11', body: 'Two' })).toBe(true)
  expect(await api.updateComment(ID, 7, { id: '10', body: 'Three' })).toBe(false)
  expect(await api.updateComment(ID, 7, { id: '9', body: 'Four' })).toBe(false)

  expect(host.bodies(`PATCH ${threads}/11/comments/1`)).toEqual([{ content: 'Two' }])
  expect(host.bodies(`POST ${threads}`)).toMatchObject([{ comments: [{ content: 'One' }], status: 'closed' }])
})

test('comments are searched in the threads, without those that were deleted', async () => {
  const { api, reply } = await setUp()
  const content = 'the marker\n\nPlans'
  reply(`GET ${PATH}/pullrequests/7/threads`, {
    body: {
      value: [
        { id: 8, isDeleted: true, comments: [{ id: 1, content }] },
        { id: 9, isDeleted: false, comments: [{ id: 1, isDeleted: true, content }] },
        {
          id: 10,
          comments: [
            { id: 1, content: 'Looks good' },
            { id: 2, content },
          ],
        },
        { id: 11, isDeleted: false, comments: [{ id: 1, content }] },
      ],
    },
  })

  expect(await api.findComment(ID, 7, 'the marker')).toBe('11')
  expect(await api.findComment(ID, 7, 'another')).toBeUndefined()
})
