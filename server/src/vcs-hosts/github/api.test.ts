import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { commentPages, linkToNext, startFakeHost } from '../testing/fake-host.ts'
import { github, githubEnterprise } from './api.ts'
import { SHA, mona, monaSender, pullRequest, repository } from './testing/bodies.ts'

type Routes = Parameters<typeof startFakeHost>[0]

async function connect(routes: Routes) {
  const host = await startFakeHost(routes)
  const api = github.api?.(host.connection)
  if (!api) throw new Error('GitHub has an API')
  return { host, api }
}

describe('addresses', () => {
  test.each([
    [github, undefined, 'https://github.com', 'https://api.github.com'],
    [github, 'https://github.com', 'https://github.com', 'https://api.github.com'],
    [github, 'https://acme.ghe.com', 'https://acme.ghe.com', 'https://api.acme.ghe.com'],
    [githubEnterprise, 'https://git.acme.example', 'https://git.acme.example', 'https://git.acme.example/api/v3'],
  ])('of %o at %s', (host, given, httpUrl, apiUrl) => {
    expect(host.addresses(given)).toEqual({ httpUrl, apiUrl })
  })

  test('of GitHub Enterprise have no default', () => {
    expect(githubEnterprise.addresses(undefined)).toBeNull()
  })

  test('of a repository follow from its name', () => {
    expect(githubEnterprise.repositoryUrls({ httpUrl: 'https://git.acme.example:8443' }, 'acme/network')).toEqual({
      page: 'https://git.acme.example:8443/acme/network',
      clone: 'https://git.acme.example:8443/acme/network.git',
      ssh: 'git@git.acme.example:acme/network.git',
    })
  })
})

test('requests have the token, and the user is its owner', async () => {
  const { host, api } = await connect({ 'GET /user': () => ({ body: mona }) })

  expect(await api.readUser()).toBe('mona')
  expect(host.requests[0]?.headers['authorization']).toBe('token the-token')
  expect(host.requests[0]?.headers['user-agent']).toMatch(/^groundstate\b/)
})

test('owners are the user and its organizations', async () => {
  const { api } = await connect({
    'GET /user': () => ({ body: mona }),
    'GET /user/orgs': () => ({ body: [{ login: 'acme', id: 9919 }] }),
  })

  expect(await api.listOwners()).toEqual(['mona', 'acme'])
})

describe('repositories', () => {
  const names = ['acme/network', 'acme/dns', 'acme/NETWORK-tests', 'mona/network-lab']
  const listing: Routes = {
    'GET /user/repos': ({ query, headers }) => {
      const [page, size] = [Number(query['page']), Number(query['per_page'])]
      const rows = names.slice((page - 1) * size, page * size).map((name) => repository(name))
      return {
        body: rows,
        headers: linkToNext(`https://${headers.host}/user/repos`, page, Math.ceil(names.length / size)),
      }
    },
  }

  test('are listed by page', async () => {
    const { api } = await connect(listing)

    const first = await api.listRepositories({ query: '', page: 1, size: 3 })
    const second = await api.listRepositories({ query: '', page: first.nextPage ?? 0, size: 3 })

    expect(first.rows.map(({ identifier }) => identifier)).toEqual(names.slice(0, 3))
    expect(second).toMatchObject({ rows: [{ identifier: 'mona/network-lab' }], nextPage: null })
  })

  test('are found by a part of the name, none twice and none missing', async () => {
    const { api } = await connect(listing)
    const found: string[] = []

    for (let page: number | null = 1; page !== null;) {
      const { rows, nextPage } = await api.listRepositories({ query: 'Network', page, size: 2 })
      expect(rows.length).toBeLessThanOrEqual(2)
      found.push(...rows.map(({ identifier }) => identifier))
      page = nextPage
    }

    expect(found).toEqual(['acme/network', 'acme/NETWORK-tests', 'mona/network-lab'])
  })

  test('have URLs and a default branch', async () => {
    const { api } = await connect({ 'GET /repos/acme/network': () => ({ body: repository() }) })

    expect(await api.findRepository('acme/network')).toEqual({
      identifier: 'acme/network',
      displayIdentifier: 'acme/network',
      page: 'https://github.com/acme/network',
      clone: 'https://github.com/acme/network.git',
      ssh: 'git@github.com:acme/network.git',
      defaultBranch: 'main',
    })
  })

  test('that were renamed have the new name', async () => {
    const { api } = await connect({
      'GET /repos/acme/net': () => ({ status: 301, headers: { location: '/repositories/186853002' }, body: {} }),
      'GET /repositories/186853002': () => ({ body: repository() }),
    })

    expect(await api.findRepository('acme/net')).toMatchObject({ identifier: 'acme/network' })
  })

  test.each(['acme/missing', 'acme', 'acme/..', 'acme/a/b', '../user', ''])(
    '"%s" does not exist',
    async (identifier) => {
      const { host, api } = await connect({})

      expect(await api.findRepository(identifier)).toBeUndefined()
      expect(host.asked()).toEqual(identifier === 'acme/missing' ? ['GET /repos/acme/missing'] : [])
    },
  )

  test('have branches, found by a part of the name', async () => {
    const pages = [['main', 'feature/dns'], ['Feature/network']]
    const { api } = await connect({
      'GET /repos/acme/network/branches': ({ query, headers }) => {
        const page = Number(query['page'])
        const body = (pages[page - 1] ?? []).map((name) => ({ name, commit: { sha: SHA.main }, protected: false }))
        return { body, headers: linkToNext(`http://${headers.host}/repositories/186853002/branches`, page, 2) }
      },
    })

    expect(await api.listBranches('acme/network', '')).toEqual(['main', 'feature/dns', 'Feature/network'])
    expect(await api.listBranches('acme/network', 'feature')).toEqual(['feature/dns', 'Feature/network'])
  })
})

describe('a webhook', () => {
  const url = 'https://groundstate.example/webhooks/vcs/abc'
  const hook = (id: number, url: string) => ({ id, type: 'Repository', name: 'web', active: true, config: { url } })

  test('is created, active, with a secret', async () => {
    const { host, api } = await connect({
      'GET /repos/acme/network/hooks': () => ({ body: [hook(1, 'https://other.example/')] }),
      'POST /repos/acme/network/hooks': () => ({ status: 201, body: hook(12, url) }),
    })

    expect(await api.createWebhook('acme/network', { url, secret: 's3cret' })).toBe('12')
    expect(host.requests.at(-1)?.body).toEqual({
      active: true,
      events: ['push', 'pull_request'],
      config: { url, secret: 's3cret', content_type: 'json', insecure_ssl: '0' },
    })
  })

  test('with the same URL is replaced, on whichever page it is', async () => {
    const { host, api } = await connect({
      'GET /repos/acme/network/hooks': ({ query, headers }) => {
        const page = Number(query['page'])
        const next = linkToNext(`http://${headers.host}/repos/acme/network/hooks`, page, 2)
        return { body: [hook(page, page === 2 ? url : 'https://other.example/')], headers: next }
      },
      'PATCH /repos/acme/network/hooks/2': () => ({ body: hook(2, url) }),
    })

    expect(await api.createWebhook('acme/network', { url, secret: 'new' })).toBe('2')
    expect(host.requests.at(-1)?.body).toMatchObject({ active: true, config: { url, secret: 'new' } })
  })

  test('needs a token that may manage webhooks', async () => {
    const { api } = await connect({})

    await expect(api.createWebhook('acme/network', { url, secret: 's3cret' })).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('admin:repo_hook'),
    })
  })

  test('that GitHub refuses is an error with its reason, and without the secret', async () => {
    const message = "Validation Failed: url is not supported because it isn't reachable over the public Internet"
    const { api } = await connect({
      'GET /repos/acme/network/hooks': () => ({ body: [] }),
      'POST /repos/acme/network/hooks': () => ({ status: 422, body: { message } }),
    })

    const error: unknown = await api
      .createWebhook('acme/network', { url, secret: 's3cret' })
      .catch((error: unknown) => error)

    expect(error).toMatchObject({ kind: 'forbidden', message: expect.stringContaining(message) })
    expect(inspect(error, { depth: 10 })).not.toMatch(/s3cret|the-token/)
  })

  test('is deleted, even if it is missing', async () => {
    const { host, api } = await connect({
      'DELETE /repos/acme/network/hooks/12': () => ({ status: 204 }),
    })

    await api.deleteWebhook('acme/network', '12')
    await api.deleteWebhook('acme/network', '13')

    expect(host.asked()).toEqual(['DELETE /repos/acme/network/hooks/12', 'DELETE /repos/acme/network/hooks/13'])
  })
})

describe('pull requests', () => {
  test('that are open are listed from all pages', async () => {
    const { host, api } = await connect({
      'GET /repos/acme/network/pulls': ({ query, headers }) => ({
        body: [pullRequest({ number: Number(query['page']) })],
        headers: linkToNext(`http://${headers.host}/repositories/186853002/pulls`, Number(query['page']), 3),
      }),
    })

    const open = await api.listOpenPullRequests('acme/network')

    expect(open.map(({ number, headRef }) => [number, headRef])).toEqual([
      [1, 'refs/pull/1/head'],
      [2, 'refs/pull/2/head'],
      [3, 'refs/pull/3/head'],
    ])
    expect(host.requests[0]?.query).toMatchObject({ state: 'open' })
  })

  test('are found by number', async () => {
    const { api } = await connect({ 'GET /repos/acme/network/pulls/7': () => ({ body: pullRequest() }) })

    expect(await api.findPullRequest('acme/network', 7)).toMatchObject({ number: 7, author: monaSender, isFork: false })
    expect(await api.findPullRequest('acme/network', 8)).toBeUndefined()
  })

  test('get a comment, which can be updated unless it was deleted', async () => {
    const comments = new Map<number, unknown>()
    const { api } = await connect({
      'POST /repos/acme/network/issues/7/comments': ({ body }) => {
        comments.set(comments.size + 41, body)
        return { status: 201, body: { id: comments.size + 40, body } }
      },
      'PATCH /repos/acme/network/issues/comments/41': ({ body }) => {
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
    const { host, api } = await connect(commentPages('/repos/acme/network/issues/7/comments', 'per_page'))

    expect(await api.findComment('acme/network', 7, 'comment 2.3.')).toBe('2003')
    expect(host.requests).toHaveLength(2)
    expect(await api.findComment('acme/network', 7, 'another')).toBeUndefined()
    expect(host.requests).toHaveLength(5)
  })
})

test('a status has at most 140 characters', async () => {
  const { host, api } = await connect({
    [`POST /repos/acme/network/statuses/${SHA.pushed}`]: () => ({ status: 201, body: { id: 1 } }),
  })
  const url = 'https://groundstate.example/app/acme/workspaces/network/runs/run-1'

  await api.setStatus('acme/network', SHA.pushed, {
    context: 'groundstate/acme/network',
    state: 'failure',
    description: 'x'.repeat(200),
    url,
  })

  expect(host.requests[0]?.body).toEqual({
    context: 'groundstate/acme/network',
    state: 'failure',
    description: 'x'.repeat(140),
    target_url: url,
  })
})

test('a status of a repository that was renamed is sent to the new address', async () => {
  const location = `/repositories/186853002/statuses/${SHA.pushed}`
  const { host, api } = await connect({
    [`POST /repos/acme/net/statuses/${SHA.pushed}`]: () => ({ status: 307, headers: { location } }),
    [`POST ${location}`]: () => ({ status: 201, body: { id: 1 } }),
  })
  const status = { context: 'groundstate', state: 'success', description: 'applied', url: 'https://x.example' } as const

  await api.setStatus('acme/net', SHA.pushed, status)

  expect(host.requests[1]?.body).toEqual(host.requests[0]?.body)
})
