import { expect, test } from 'vitest'
import { startFakeHost } from '../testing/fake-host.ts'
import { bitbucketCloud } from './api.ts'
import { fork, NEW, pullRequest } from './testing/bodies.ts'

const ID = 'acme/network'
const PATH = '/repositories/acme/network'

const repository = (name: string) => ({
  full_name: name,
  mainbranch: { type: 'branch', name: 'main' },
  links: {
    html: { href: `https://bitbucket.org/${name}` },
    clone: [
      { name: 'https', href: `https://emmap1@bitbucket.org/${name}.git` },
      { name: 'ssh', href: `git@bitbucket.org:${name}.git` },
    ],
  },
})

async function setUp(username: string | null = 'emma@example.com') {
  const host = await startFakeHost()
  const api = bitbucketCloud.api?.({ ...host.connection, username })
  if (!api) throw new Error('Bitbucket Cloud has an API')
  return { host, api, reply: host.reply }
}

test.each([
  ['emma@example.com', `Basic ${Buffer.from('emma@example.com:the-token').toString('base64')}`],
  ['x-token-auth', 'Bearer the-token'],
  [null, 'Bearer the-token'],
])('with the user %s, requests are authorized by %s', async (username, authorization) => {
  const { host, api, reply } = await setUp(username)
  reply('GET /user', { body: { nickname: 'emmap1', display_name: 'Emma Jones', links: {} } })

  expect(await api.readUser()).toBe('emmap1')
  expect(host.requests[0]?.headers.authorization).toBe(authorization)
})

test('git gets a user that it can use', () => {
  const user = (username: string | null) => bitbucketCloud.gitCredential({ token: 't', username }).username

  expect(user('emma@example.com')).toBe('x-bitbucket-api-token-auth')
  expect(user('emmap1')).toBe('emmap1')
  expect(user(null)).toBe('x-token-auth')
})

test('repositories of all workspaces are searched, one workspace after the other', async () => {
  const { host, api, reply } = await setUp()
  const workspaces = ['acme', 'empty', 'other'].map((slug) => ({ workspace: { uuid: `{${slug}}`, slug } }))
  reply('GET /user/workspaces', { body: { values: workspaces } })
  reply('GET /repositories/acme', ({ query }) => ({
    body: {
      values: [repository(`acme/${query['page']}`)],
      ...(query['page'] === '1' ? { next: 'page 2' } : {}),
    },
  }))
  reply('GET /repositories/empty', { body: { values: [] } })
  reply('GET /repositories/other', { body: { values: [repository('other/network')] } })

  const found: string[] = []
  for (let page: number | null = 1; page !== null;) {
    const { rows, nextPage } = await api.listRepositories({ query: 'net"', page, size: 1 })
    found.push(...rows.map(({ identifier }) => identifier))
    page = nextPage
  }

  expect(found).toEqual(['acme/1', 'acme/2', 'other/network'])
  expect(host.requests[1]?.query['q']).toBe('name~"net"')
})

test('a workspace in the query is the only one that is searched', async () => {
  const { host, api, reply } = await setUp()
  reply('GET /repositories/acme', { body: { values: [repository(ID)] } })

  const { rows, nextPage } = await api.listRepositories({ query: 'acme/net', page: 1, size: 20 })

  expect(rows).toEqual([
    {
      identifier: ID,
      displayIdentifier: ID,
      page: 'https://bitbucket.org/acme/network',
      clone: 'https://bitbucket.org/acme/network.git',
      ssh: 'git@bitbucket.org:acme/network.git',
      defaultBranch: 'main',
    },
  ])
  expect(nextPage).toBeNull()
  expect(host.requests).toHaveLength(1)
})

test('a repository that is missing is undefined', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}`, { body: { ...repository(ID), mainbranch: null } })

  expect(await api.findRepository(ID)).toMatchObject({ identifier: ID, defaultBranch: '' })
  expect(await api.findRepository('acme/missing')).toBeUndefined()
})

test('a webhook is created, replaced and deleted', async () => {
  const { api, host, reply } = await setUp()
  const hook = { url: 'https://groundstate.example.com/webhooks/vcs/1', secret: 's3cret' }
  const uuid = '{b1}'
  reply(`GET ${PATH}/hooks`, { body: { values: [] } })
  reply(`POST ${PATH}/hooks`, { status: 201, body: { uuid, url: hook.url } })
  reply(`PUT ${PATH}/hooks/%7Bb1%7D`, { body: { uuid, url: hook.url } })

  expect(await api.createWebhook(ID, hook)).toBe(uuid)
  reply(`GET ${PATH}/hooks`, { body: { values: [{ uuid, url: hook.url }] } })
  expect(await api.createWebhook(ID, hook)).toBe(uuid)
  await api.deleteWebhook(ID, uuid)

  const body = {
    ...hook,
    description: 'Groundstate',
    active: true,
    events: [
      'repo:push',
      'pullrequest:created',
      'pullrequest:updated',
      'pullrequest:fulfilled',
      'pullrequest:rejected',
    ],
  }
  expect(host.bodies(`POST ${PATH}/hooks`)).toEqual([body])
  expect(host.bodies(`PUT ${PATH}/hooks/%7Bb1%7D`)).toEqual([body])
  expect(host.requests.at(-1)).toMatchObject({ route: `DELETE ${PATH}/hooks/%7Bb1%7D` })
})

test('all pages of open pull requests and branches that match are listed', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}/pullrequests`, ({ query }) => ({
    body: { values: [pullRequest.pullrequest], ...(query['page'] === '1' ? { next: 'http://127.0.0.1:1/' } : {}) },
  }))
  reply(`GET ${PATH}/refs/branches`, { body: { values: [{ name: 'main' }] } })

  expect(await api.listOpenPullRequests(ID)).toHaveLength(2)
  expect(await api.listBranches(ID, 'ma')).toEqual(['main'])
  expect(host.requests.at(-1)?.query['q']).toBe('name~"ma"')
})

test('a pull request has the full ids of its commits', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}/pullrequests/7`, { body: { ...fork.pullrequest, merge_commit: { hash: '4f8f6de9d0ff' } } })
  reply('GET /repositories/emmap1/network/commit/507a576e59b3', { body: { hash: NEW, message: 'Add a subnet\n' } })
  reply(`GET ${PATH}/commit/7d1a175411ef`, { body: { hash: 'b'.repeat(40), message: '' } })
  reply(`GET ${PATH}/commit/4f8f6de9d0ff`, { body: { hash: 'c'.repeat(40), message: '' } })

  expect(await api.findPullRequest(ID, 7)).toMatchObject({
    head: { sha: NEW, message: 'Add a subnet\n' },
    base: { sha: 'b'.repeat(40) },
    mergeSha: 'c'.repeat(40),
    isFork: true,
  })
  expect(await api.findPullRequest(ID, 9)).toBeUndefined()
})

test('the key of a status has 40 characters and depends on the context', async () => {
  const { api, host, reply } = await setUp()
  reply(`POST ${PATH}/commit/${NEW}/statuses/build`, { status: 201, body: {} })
  const status = { description: 'Planned', url: 'https://g.example', state: 'pending' } as const

  await api.setStatus(ID, NEW, { ...status, context: 'groundstate/a' })
  await api.setStatus(ID, NEW, { ...status, context: 'groundstate/b' })

  const bodies = host.bodies(`POST ${PATH}/commit/${NEW}/statuses/build`) as { key: string }[]
  expect(bodies[0]).toMatchObject({ name: 'groundstate/a', state: 'INPROGRESS', description: 'Planned' })
  expect(bodies[0]?.key).toHaveLength(40)
  expect(bodies[0]?.key).not.toBe(bodies[1]?.key)
})

test('a comment can be updated, unless it was deleted', async () => {
  const { api, host, reply } = await setUp()
  const comments = `${PATH}/pullrequests/7/comments`
  reply(`POST ${comments}`, { status: 201, body: { id: 11 } })
  reply(`PUT ${comments}/11`, { body: { id: 11, deleted: false } })
  reply(`PUT ${comments}/9`, { body: { id: 9, deleted: true } })

  expect(await api.createComment(ID, 7, 'x'.repeat(40_000))).toBe('11')
  expect(await api.updateComment(ID, 7, { id: '11', body: 'Two' })).toBe(true)
  expect(await api.updateComment(ID, 7, { id: '10', body: 'Three' })).toBe(false)
  expect(await api.updateComment(ID, 7, { id: '9', body: 'Four' })).toBe(false)

  expect(host.bodies(`PUT ${comments}/11`)).toEqual([{ content: { raw: 'Two' } }])
  expect(host.bodies(`POST ${comments}`)).toEqual([{ content: { raw: 'x'.repeat(32_000) } }])
})

test('comments are searched from the latest, without those that were deleted', async () => {
  const { api, host, reply } = await setUp()
  const pages = [
    [
      { id: 13, deleted: true, content: { raw: 'the marker' } },
      { id: 12, content: { raw: 'Looks good' } },
    ],
    [{ id: 11, deleted: false, content: { raw: 'the marker\n\nPlans' } }],
  ]
  reply(`GET ${PATH}/pullrequests/7/comments`, ({ query }) => {
    const page = Number(query['page'])
    return { body: { values: pages[page - 1], ...(page < pages.length && { next: 'https://api.example/?page=2' }) } }
  })

  expect(await api.findComment(ID, 7, 'the marker')).toBe('11')
  expect(await api.findComment(ID, 7, 'another')).toBeUndefined()
  expect(host.requests[0]?.query).toMatchObject({ sort: '-created_on' })
})
