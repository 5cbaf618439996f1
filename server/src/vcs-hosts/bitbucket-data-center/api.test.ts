import { expect, test } from 'vitest'
import { startFakeHost } from '../testing/fake-host.ts'
import { bitbucketDataCenter } from './api.ts'
import { fork, NEW, pullRequest, push } from './testing/bodies.ts'

const ID = 'ACME/network'
const REST = '/context/rest/api/1.0'
const PATH = `${REST}/projects/ACME/repos/network`
const { repository } = push

const pageOf = (values: unknown[], nextPageStart: number | null = null) => ({
  body: { values, size: values.length, isLastPage: nextPageStart === null, nextPageStart },
})

/** With the address of the API as users give it: of the server, or of the API itself. */
async function setUp(suffix = '') {
  const host = await startFakeHost()
  const connection = { ...host.connection, httpUrl: `${host.url}/context`, apiUrl: `${host.url}/context${suffix}` }
  const api = bitbucketDataCenter.api?.(connection)
  if (!api) throw new Error('Bitbucket Data Center has an API')
  return { host, api, reply: host.reply }
}

test.each(['', '/rest/api/1.0', '/rest/api/latest'])(
  'with the API at /context%s, the user is in a header',
  async (suffix) => {
    const { host, api, reply } = await setUp(suffix)
    reply(`GET ${REST}/projects`, { ...pageOf([]), headers: { 'x-ausername': 'jcitizen' } })

    expect(await api.readUser()).toBe('jcitizen')
    expect(host.requests[0]?.headers.authorization).toBe('Bearer the-token')
  },
)

test('a token that the server treats as anonymous is refused', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${REST}/projects`, pageOf([]))

  await expect(api.readUser()).rejects.toMatchObject({ kind: 'unauthorised' })
})

test.each([
  [{ 'x-ausername': 'jcitizen' }, 'forbidden'],
  [{}, 'unauthorised'],
])('a 401 with the headers %j is %s: Bitbucket has no 403 for missing permissions', async (headers, kind) => {
  const { api, reply } = await setUp()
  const message = 'You are not permitted to access this resource'
  const error = { context: null, message, exceptionName: 'com.atlassian.bitbucket.AuthorisationException' }
  reply(`GET ${PATH}/webhooks`, { status: 401, headers, body: { errors: [error] } })

  const created = api.createWebhook(ID, { url: 'https://x.example', secret: 's3cret' })

  await expect(created).rejects.toMatchObject({ kind, message: expect.stringContaining(message) })
})

test('repositories are searched on the host, from position to position', async () => {
  const { host, api, reply } = await setUp()
  reply(`GET ${REST}/repos`, pageOf([repository], 40))

  const { rows, nextPage } = await api.listRepositories({ query: 'net', page: 21, size: 10 })

  expect(rows).toEqual([
    {
      identifier: ID,
      displayIdentifier: ID,
      page: 'https://bitbucket.example.com/projects/ACME/repos/network',
      clone: 'https://bitbucket.example.com/scm/acme/network.git',
      ssh: 'ssh://git@bitbucket.example.com:7999/acme/network.git',
      defaultBranch: '',
    },
  ])
  expect(nextPage).toBe(41)
  expect(host.requests[0]?.query).toEqual({ limit: '10', start: '20', name: 'net' })
})

test('owners are the projects of all pages', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${REST}/projects`, ({ query }) =>
    query['start'] === '0' ? pageOf([{ key: 'ACME' }], 100) : pageOf([{ key: 'OPS' }]),
  )

  expect(await api.listOwners()).toEqual(['ACME', 'OPS'])
})

test('the default branch is read where the version has it', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}`, { body: repository })
  reply(`GET ${PATH}/branches/default`, { body: { displayId: 'legacy' } })

  expect(await api.findRepository(ID)).toMatchObject({ defaultBranch: 'legacy' })
  reply(`GET ${PATH}/default-branch`, { body: { displayId: 'main' } })
  expect(await api.findRepository(ID)).toMatchObject({ defaultBranch: 'main' })
  reply(`GET ${PATH}/default-branch`, { status: 204 })
  expect(await api.findRepository(ID)).toMatchObject({ defaultBranch: '' })
  expect(await api.findRepository('ACME/missing')).toBeUndefined()
})

test('branches are searched on the host', async () => {
  const { api, host, reply } = await setUp()
  reply(`GET ${PATH}/branches`, pageOf([{ displayId: 'main' }]))

  expect(await api.listBranches(ID, 'ma')).toEqual(['main'])
  expect(host.requests[0]?.query['filterText']).toBe('ma')
})

test('a webhook is created, replaced and deleted', async () => {
  const { api, host, reply } = await setUp()
  const hook = { url: 'https://groundstate.example.com/webhooks/vcs/1', secret: 's3cret' }
  reply(`GET ${PATH}/webhooks`, pageOf([]))
  reply(`POST ${PATH}/webhooks`, { status: 201, body: { id: 5, url: hook.url } })
  reply(`PUT ${PATH}/webhooks/5`, { body: { id: 5, url: hook.url } })

  expect(await api.createWebhook(ID, hook)).toBe('5')
  reply(`GET ${PATH}/webhooks`, pageOf([{ id: 5, url: hook.url }]))
  expect(await api.createWebhook(ID, hook)).toBe('5')
  await api.deleteWebhook(ID, '5')

  const events = [
    'repo:refs_changed',
    'pr:opened',
    'pr:from_ref_updated',
    'pr:modified',
    'pr:merged',
    'pr:declined',
    'pr:deleted',
  ]
  const body = { name: 'Groundstate', url: hook.url, active: true, events, configuration: { secret: 's3cret' } }
  expect(host.bodies(`POST ${PATH}/webhooks`)).toEqual([body])
  expect(host.bodies(`PUT ${PATH}/webhooks/5`)).toEqual([body])
  expect(host.requests.at(-1)).toMatchObject({ route: `DELETE ${PATH}/webhooks/5` })
})

test('pull requests are listed, and one is read with the message of its head', async () => {
  const { api, reply } = await setUp()
  reply(`GET ${PATH}/pull-requests`, pageOf([pullRequest, fork.pullRequest]))
  reply(`GET ${PATH}/pull-requests/7`, { body: pullRequest })
  reply(`GET ${PATH}/commits/${NEW}`, { body: { id: NEW, message: 'Add a subnet' } })

  expect(await api.listOpenPullRequests(ID)).toMatchObject([{ isFork: false }, { isFork: true }])
  expect(await api.findPullRequest(ID, 7)).toMatchObject({ head: { sha: NEW, message: 'Add a subnet' } })
  expect(await api.findPullRequest(ID, 9)).toBeUndefined()
})

test('a status is a build of the commit', async () => {
  const { api, host, reply } = await setUp()
  const route = `POST /context/rest/build-status/1.0/commits/${NEW}`
  reply(route, { status: 204 })

  await api.setStatus(ID, NEW, {
    context: 'groundstate/a',
    state: 'success',
    description: 'Applied',
    url: 'https://g.example',
  })

  expect(host.bodies(route)).toEqual([
    {
      key: 'groundstate/a',
      name: 'groundstate/a',
      state: 'SUCCESSFUL',
      description: 'Applied',
      url: 'https://g.example',
    },
  ])
})

test('a comment is updated with its version, unless it was deleted', async () => {
  const { api, host, reply } = await setUp()
  const comments = `${PATH}/pull-requests/7/comments`
  reply(`POST ${comments}`, { status: 201, body: { id: 11, version: 0 } })
  reply(`GET ${comments}/11`, { body: { id: 11, version: 3 } })
  reply(`PUT ${comments}/11`, { body: { id: 11, version: 4 } })

  expect(await api.createComment(ID, 7, 'One')).toBe('11')
  expect(await api.updateComment(ID, 7, { id: '11', body: 'Two' })).toBe(true)
  expect(await api.updateComment(ID, 7, { id: '10', body: 'Three' })).toBe(false)

  expect(host.bodies(`PUT ${comments}/11`)).toEqual([{ text: 'Two', version: 3 }])
  expect(host.bodies(`POST ${comments}`)).toEqual([{ text: 'One' }])
})

test('comments are searched in the activities, without those that were deleted', async () => {
  const { api, reply } = await setUp()
  const comment = (commentAction: string, id: number, text: string) => {
    return { id: id + 1000, action: 'COMMENTED', commentAction, comment: { id, version: 0, text } }
  }
  reply(`GET ${PATH}/pull-requests/7/activities`, ({ query }) => {
    if (query['start'] === '2') return pageOf([comment('ADDED', 11, 'the marker\n\nPlans')])
    return pageOf([{ id: 1014, action: 'APPROVED' }, comment('DELETED', 12, 'the marker')], 2)
  })

  expect(await api.findComment(ID, 7, 'the marker')).toBe('11')
  expect(await api.findComment(ID, 7, 'another')).toBeUndefined()
})
