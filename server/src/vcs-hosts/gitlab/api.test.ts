import { expect, test } from 'vitest'
import { startFakeHost } from '../testing/fake-host.ts'
import { gitlab } from './api.ts'
import { signingToken } from './webhooks.ts'

const ID = 'acme/platform/network'
const PATH = '/api/v4/projects/acme%2Fplatform%2Fnetwork'
const SHA = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7'

const project = {
  id: 15,
  path_with_namespace: ID,
  web_url: `https://gitlab.example.com/${ID}`,
  http_url_to_repo: `https://gitlab.example.com/${ID}.git`,
  ssh_url_to_repo: `git@gitlab.example.com:${ID}.git`,
  default_branch: 'main',
}
const row = {
  iid: 7,
  title: 'Add a VPN',
  description: null,
  state: 'opened',
  web_url: `https://gitlab.example.com/${ID}/-/merge_requests/7`,
  sha: SHA,
  source_branch: 'feature/vpn',
  target_branch: 'main',
  source_project_id: 15,
  target_project_id: 15,
  author: { id: 51, username: 'jsmith', avatar_url: null, web_url: 'https://gitlab.example.com/jsmith' },
  merge_commit_sha: null,
  squash_commit_sha: null,
}

async function setUp() {
  const host = await startFakeHost()
  const api = gitlab.api?.({ ...host.connection, apiUrl: `${host.url}/api/v4` })
  if (!api) throw new Error('GitLab has an API')
  return { host, api, reply: host.reply }
}

test('requests carry the token as a bearer', async () => {
  const { host, api, reply } = await setUp()
  reply('GET /api/v4/user', { body: { id: 51, username: 'jsmith' } })

  expect(await api.readUser()).toBe('jsmith')
  expect(host.requests[0]?.headers.authorization).toBe('Bearer the-token')
})

test('projects are searched on the host, page by page', async () => {
  const { host, api, reply } = await setUp()
  reply('GET /api/v4/projects', { body: [project], headers: { 'x-next-page': '3' } })

  const found = await api.listRepositories({ query: 'net', page: 2, size: 20 })

  expect(found).toEqual({
    rows: [
      {
        identifier: ID,
        displayIdentifier: ID,
        page: project.web_url,
        clone: project.http_url_to_repo,
        ssh: project.ssh_url_to_repo,
        defaultBranch: 'main',
      },
    ],
    nextPage: 3,
  })
  expect(host.requests[0]?.query).toMatchObject({
    membership: 'true',
    search: 'net',
    search_namespaces: 'true',
    page: '2',
    per_page: '20',
  })
})

test('owners are the user and the groups of all pages', async () => {
  const { api, host, reply } = await setUp()
  reply('GET /api/v4/user', { body: { username: 'jsmith' } })
  reply('GET /api/v4/groups', ({ query }) =>
    query['page'] === '2'
      ? { body: [{ full_path: 'acme/platform' }] }
      : {
          body: [{ full_path: 'acme' }],
          headers: { link: `<${host.url}/api/v4/groups?page=2&per_page=100>; rel="next"` },
        },
  )

  expect(await api.listOwners()).toEqual(['jsmith', 'acme', 'acme/platform'])
})

test('a project is found by its path, one that is missing is undefined', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}`, { body: { ...project, default_branch: undefined } })

  expect(await api.findRepository(ID)).toMatchObject({ identifier: ID, defaultBranch: '' })
  expect(await api.findRepository('acme/missing')).toBeUndefined()
})

test('branches are searched on the host', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}/repository/branches`, { body: [{ name: 'main' }] })

  expect(await api.listBranches(ID, 'ma')).toEqual(['main'])
  expect(host.requests[0]?.query['search']).toBe('ma')
})

test('a webhook is created with both kinds of proof, or replaced', async () => {
  const { api, host, reply } = await setUp()
  const hook = { url: 'https://groundstate.example.com/webhooks/vcs/1', secret: 'secret' }
  reply(`GET ${PATH}/hooks`, { body: [{ id: 3, url: 'https://other.example.com' }] })
  reply(`POST ${PATH}/hooks`, { status: 201, body: { id: 4, url: hook.url } })
  reply(`PUT ${PATH}/hooks/4`, { body: { id: 4, url: hook.url } })

  expect(await api.createWebhook(ID, hook)).toBe('4')
  reply(`GET ${PATH}/hooks`, { body: [{ id: 4, url: hook.url }] })
  expect(await api.createWebhook(ID, hook)).toBe('4')

  const settings = {
    url: hook.url,
    token: 'secret',
    signing_token: signingToken('secret'),
    push_events: true,
    tag_push_events: true,
    merge_requests_events: true,
  }
  expect(host.bodies(`POST ${PATH}/hooks`)).toEqual([settings])
  expect(host.bodies(`PUT ${PATH}/hooks/4`)).toEqual([settings])
})

test('deleting a webhook that is gone is no error', async () => {
  const { api, host } = await setUp()

  await api.deleteWebhook(ID, '4')

  expect(host.requests[0]).toMatchObject({ route: `DELETE ${PATH}/hooks/4` })
})

test('open merge requests are listed', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}/merge_requests`, { body: [row, { ...row, iid: 8, source_project_id: null }] })

  expect(await api.listOpenPullRequests(ID)).toMatchObject([
    { number: 7, head: { branch: 'feature/vpn', sha: SHA }, isFork: false, mergeSha: null },
    { number: 8, isFork: true, headRef: 'refs/merge-requests/8/head' },
  ])
  expect(host.requests[0]?.query['state']).toBe('opened')
})

test('a merge request has the message of its head and the commit of its merge', async () => {
  const { api, reply } = await setUp()
  const merged = {
    ...row,
    state: 'merged',
    squash_commit_sha: 'f'.repeat(40),
    diff_refs: { start_sha: 'a'.repeat(40) },
  }
  reply(`GET ${PATH}/merge_requests/7`, { body: merged })
  reply(`GET ${PATH}/repository/commits/${SHA}`, { body: { id: SHA, message: 'Fix the readme' } })

  expect(await api.findPullRequest(ID, 7)).toMatchObject({
    head: { message: 'Fix the readme', url: `https://gitlab.example.com/${ID}/-/commit/${SHA}` },
    base: { branch: 'main', sha: 'a'.repeat(40) },
    mergeSha: 'f'.repeat(40),
  })
  expect(await api.findPullRequest(ID, 9)).toBeUndefined()
})

test('a status is set once; GitLab refuses to repeat it', async () => {
  const { api, host, reply } = await setUp()
  const status = {
    context: 'groundstate/network',
    state: 'error',
    description: 'It failed',
    url: 'https://g.example',
  } as const
  reply(`POST ${PATH}/statuses/${SHA}`, { status: 201, body: {} })

  await api.setStatus(ID, SHA, status)
  reply(`POST ${PATH}/statuses/${SHA}`, {
    status: 400,
    body: { message: { state: ['Cannot transition status via :drop'] } },
  })
  await api.setStatus(ID, SHA, status)

  expect(host.bodies(`POST ${PATH}/statuses/${SHA}`)[0]).toEqual({
    state: 'failed',
    context: 'groundstate/network',
    description: 'It failed',
    target_url: 'https://g.example',
  })
})

test('a comment can be updated, unless it was deleted', async () => {
  const { api, host, reply } = await setUp()
  const notes = `${PATH}/merge_requests/7/notes`
  reply(`POST ${notes}`, { status: 201, body: { id: 11 } })
  reply(`PUT ${notes}/11`, { body: { id: 11 } })

  expect(await api.createComment(ID, 7, 'One')).toBe('11')
  expect(await api.updateComment(ID, 7, { id: '11', body: 'Two' })).toBe(true)
  expect(await api.updateComment(ID, 7, { id: '10', body: 'Three' })).toBe(false)

  expect(host.bodies(`PUT ${notes}/11`)).toEqual([{ body: 'Two' }])
  expect(host.bodies(`POST ${notes}`)).toEqual([{ body: 'One' }])
})

test('comments are searched from the latest, at most 300', async () => {
  const { api, host, reply } = await setUp()
  const notes = `GET ${PATH}/merge_requests/7/notes`
  reply(notes, ({ query }) => {
    const page = Number(query['page'])
    const body = Array.from({ length: 100 }, (_, index) => ({
      id: page * 1000 + index,
      body: `note ${page}.${index}.`,
    }))
    return { body, headers: { 'x-next-page': String(page + 1) } }
  })

  expect(await api.findComment(ID, 7, 'note 2.3.')).toBe('2003')
  expect(host.requests).toHaveLength(2)
  expect(host.requests[0]?.query).toMatchObject({ order_by: 'created_at', sort: 'desc', per_page: '100' })
  expect(await api.findComment(ID, 7, 'another')).toBeUndefined()
  expect(host.requests).toHaveLength(5)
})
