import { describe, expect, test } from 'vitest'
import { type HostRoutes, commentPages, linkToNext, startFakeHost } from '../testing/fake-host.ts'
import { gitea } from './api.ts'
import { SHA, mona, pullRequest, repository } from './testing/bodies.ts'

async function connect(routes: HostRoutes) {
  const host = await startFakeHost(routes)
  const api = gitea.api?.({ ...host.connection, apiUrl: `${host.url}/api/v1` })
  if (!api) throw new Error('Gitea has an API')
  return { host, api }
}

describe('addresses', () => {
  test('have no default', () => {
    expect(gitea.addresses(undefined)).toBeNull()
    expect(gitea.addresses('https://git.acme.example/git')).toEqual({
      httpUrl: 'https://git.acme.example/git',
      apiUrl: 'https://git.acme.example/git/api/v1',
    })
  })

  test('of a repository follow from its name', () => {
    expect(gitea.repositoryUrls({ httpUrl: 'https://git.acme.example' }, 'acme/network')).toEqual({
      page: 'https://git.acme.example/acme/network',
      clone: 'https://git.acme.example/acme/network.git',
      ssh: 'git@git.acme.example:acme/network.git',
    })
  })
})

test('owners are the user of the token and its organizations', async () => {
  const { host, api } = await connect({
    'GET /api/v1/user': () => ({ body: mona }),
    'GET /api/v1/user/orgs': () => ({
      body: [
        { id: 3, name: 'acme', username: 'acme' },
        { id: 4, username: 'old' },
      ],
    }),
  })

  expect(await api.listOwners()).toEqual(['mona', 'acme', 'old'])
  expect(host.requests[0]?.headers).toMatchObject({ authorization: 'token the-token', accept: 'application/json' })
})

describe('repositories', () => {
  test('are searched among those of the user, by page', async () => {
    const { host, api } = await connect({
      'GET /api/v1/user': () => ({ body: mona }),
      'GET /api/v1/repos/search': ({ query, headers }) => ({
        body: { ok: true, data: [repository(`acme/network-${query['page']}`)] },
        headers: linkToNext(`https://${headers.host}/api/v1/repos/search`, Number(query['page']), 2),
      }),
    })

    const first = await api.listRepositories({ query: 'net', page: 1, size: 20 })
    const second = await api.listRepositories({ query: 'net', page: first.nextPage ?? 0, size: 20 })

    expect(first.rows.map(({ identifier }) => identifier)).toEqual(['acme/network-1'])
    expect(second).toMatchObject({ rows: [{ identifier: 'acme/network-2' }], nextPage: null })
    expect(host.requests[1]?.query).toMatchObject({ q: 'net', uid: '7', page: '1', limit: '20' })
  })

  test('have URLs and a default branch', async () => {
    const { api } = await connect({ 'GET /api/v1/repos/acme/network': () => ({ body: repository() }) })

    expect(await api.findRepository('acme/network')).toEqual({
      identifier: 'acme/network',
      displayIdentifier: 'acme/network',
      page: 'https://git.acme.example/acme/network',
      clone: 'https://git.acme.example/acme/network.git',
      ssh: 'ssh://git@git.acme.example:2222/acme/network.git',
      defaultBranch: 'main',
    })
  })

  test.each(['acme/missing', 'acme', 'acme/..', '../user', 'acme/a/b', 'acme/a?b'])(
    '"%s" does not exist',
    async (name) => {
      const { host, api } = await connect({})

      expect(await api.findRepository(name)).toBeUndefined()
      expect(host.asked()).toEqual(name === 'acme/missing' ? ['GET /api/v1/repos/acme/missing'] : [])
    },
  )

  test('have branches, found by a part of the name', async () => {
    const pages = [['main', 'feature/dns'], ['Feature/network']]
    const { api } = await connect({
      'GET /api/v1/repos/acme/network/branches': ({ query, headers }) => ({
        body: (pages[Number(query['page']) - 1] ?? []).map((name) => ({ name, protected: false })),
        headers: linkToNext(`http://${headers.host}/api/v1/repos/acme/network/branches`, Number(query['page']), 2),
      }),
    })

    expect(await api.listBranches('acme/network', '')).toEqual(['main', 'feature/dns', 'Feature/network'])
    expect(await api.listBranches('acme/network', 'FEATURE')).toEqual(['feature/dns', 'Feature/network'])
  })
})

describe('a webhook', () => {
  const url = 'https://groundstate.example/webhooks/vcs/abc'
  const hooks = '/api/v1/repos/acme/network/hooks'
  const hook = (id: number, url: string) => ({ id, type: 'gitea', active: true, config: { content_type: 'json', url } })

  test('is created, and replaces one with the same URL', async () => {
    const { host, api } = await connect({
      [`GET ${hooks}`]: () => ({ body: [hook(1, 'https://other.example/'), hook(2, url)] }),
      [`POST ${hooks}`]: () => ({ status: 201, body: hook(3, url) }),
      [`DELETE ${hooks}/2`]: () => ({ status: 204 }),
    })

    expect(await api.createWebhook('acme/network', { url, secret: 's3cret' })).toBe('3')
    expect(host.asked()).toEqual([`GET ${hooks}`, `POST ${hooks}`, `DELETE ${hooks}/2`])
    expect(host.requests[1]?.body).toEqual({
      type: 'gitea',
      active: true,
      events: ['push', 'delete', 'pull_request_only', 'pull_request_sync'],
      config: { url, secret: 's3cret', content_type: 'json' },
    })
  })

  test('needs admin access', async () => {
    const { api } = await connect({})

    await expect(api.createWebhook('acme/network', { url, secret: 's3cret' })).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('admin access'),
    })
  })

  test('is deleted, even if it is missing', async () => {
    const { host, api } = await connect({ [`DELETE ${hooks}/2`]: () => ({ status: 204 }) })

    await api.deleteWebhook('acme/network', '2')
    await api.deleteWebhook('acme/network', '3')

    expect(host.asked()).toEqual([`DELETE ${hooks}/2`, `DELETE ${hooks}/3`])
  })
})

describe('pull requests', () => {
  const pulls = '/api/v1/repos/acme/network/pulls'

  test('that are open are listed from all pages, without those whose head is gone', async () => {
    const { host, api } = await connect({
      [`GET ${pulls}`]: ({ query, headers }) => ({
        body: [
          pullRequest({ number: Number(query['page']) }),
          pullRequest({ number: 9, head: { ...pullRequest().head, sha: '' } }),
        ],
        headers: linkToNext(`http://${headers.host}${pulls}`, Number(query['page']), 2),
      }),
    })

    const open = await api.listOpenPullRequests('acme/network')

    expect(open.map(({ number, head }) => [number, head.sha])).toEqual([
      [1, SHA.pushed],
      [2, SHA.pushed],
    ])
    expect(host.requests[0]?.query).toMatchObject({ state: 'open' })
  })

  test('are found by number', async () => {
    const { api } = await connect({ [`GET ${pulls}/7`]: () => ({ body: pullRequest() }) })

    expect(await api.findPullRequest('acme/network', 7)).toMatchObject({ number: 7, head: { branch: 'add-subnet' } })
    expect(await api.findPullRequest('acme/network', 8)).toBeUndefined()
  })

  test('get a comment, which can be updated unless it was deleted', async () => {
    const issues = '/api/v1/repos/acme/network/issues'
    const comments = new Map<number, unknown>()
    const { api } = await connect({
      [`POST ${issues}/7/comments`]: ({ body }) => {
        comments.set(comments.size + 41, body)
        return { status: 201, body: { id: comments.size + 40 } }
      },
      [`PATCH ${issues}/comments/41`]: ({ body }) => {
        comments.set(41, body)
        return { body: { id: 41 } }
      },
    })

    const id = await api.createComment('acme/network', 7, 'planning')
    const isUpdated = await api.updateComment('acme/network', 7, { id, body: '1 to add' })
    const isOtherUpdated = await api.updateComment('acme/network', 7, { id: '40', body: 'again' })

    expect([id, isUpdated, isOtherUpdated]).toEqual(['41', true, false])
    expect(Object.fromEntries(comments)).toEqual({ 41: { body: '1 to add' } })
  })

  test('have comments, which are searched on all pages but no more than 300', async () => {
    const { host, api } = await connect(commentPages('/api/v1/repos/acme/network/issues/7/comments', 'limit'))

    expect(await api.findComment('acme/network', 7, 'comment 2.3.')).toBe('2003')
    expect(host.requests).toHaveLength(2)
    expect(await api.findComment('acme/network', 7, 'another')).toBeUndefined()
    expect(host.requests).toHaveLength(8)
  })
})

test('a status has a context and a URL', async () => {
  const { host, api } = await connect({
    [`POST /api/v1/repos/acme/network/statuses/${SHA.pushed}`]: () => ({ status: 201, body: { id: 1 } }),
  })

  await api.setStatus('acme/network', SHA.pushed, {
    context: 'groundstate/acme/network',
    state: 'pending',
    description: 'planning',
    url: 'https://groundstate.example/run-1',
  })

  expect(host.requests[0]?.body).toEqual({
    context: 'groundstate/acme/network',
    state: 'pending',
    description: 'planning',
    target_url: 'https://groundstate.example/run-1',
  })
})
