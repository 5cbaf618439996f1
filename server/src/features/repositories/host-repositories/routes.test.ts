import { makeRepository, serveGit, USER } from '@groundstate/agent/testing/git-server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { repository } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { type HostRoutes, linkToNext, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

const get = async (path: string, token = owner.token) => app.request({ url: `/api/v2/${path}`, token })

const ACCOUNT: HostRoutes = { 'GET /api/v1/user': () => ({ body: { id: 1, login: 'mona' } }) }
const MISSING = { 'GET /api/v1/repos/acme/other': () => ({ status: 404, body: {} }) }

async function connect(routes: HostRoutes, attributes: object = {}, relationships: object = {}) {
  const host = await startFakeHost({ ...ACCOUNT, ...routes })
  const created = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${acme.name}/oauth-clients`,
    token: owner.token,
    body: {
      data: {
        type: 'oauth-clients',
        attributes: {
          'service-provider': 'gitea',
          'http-url': host.url,
          'oauth-token-string': 'gta_secret',
          ...attributes,
        },
        relationships,
      },
    },
  })
  expect(created.status).toBe(201)
  return { host, tokenId: created.json().data.relationships['oauth-tokens'].data[0].id as string }
}

const SEARCH = 'GET /api/v1/repos/search'
const found = (...names: string[]) => ({
  ok: true,
  data: names.map((name) => ({ ...repository(), full_name: name })),
})

test('repositories are searched on the host, page by page', async () => {
  const { host, tokenId } = await connect({
    [SEARCH]: ({ query }) => ({
      headers: linkToNext('http://host', Number(query['page']), 2),
      body: query['page'] === '1' ? found('acme/network', 'mona/network') : found('acme/network-old'),
    }),
  })
  const path = `oauth-tokens/${tokenId}/authorized-repos`

  const first = await get(`${path}?q=netw&page[size]=2`)
  const last = await get(`${path}?search[name]=netw&page[size]=2&page[number]=2`)
  const own = await get(`${path}?organization=Acme`)

  expect(first.json()).toEqual({
    data: ['acme/network', 'mona/network'].map((id) => ({
      id,
      type: 'authorized-repos',
      attributes: { name: 'network', 'display-identifier': id },
      relationships: { 'oauth-token': { data: { id: tokenId, type: 'oauth-tokens' } } },
    })),
    meta: { 'next-page': 2 },
  })
  expect(last.json()).toMatchObject({ data: [{ id: 'acme/network-old' }], meta: { 'next-page': null } })
  expect(own.json().data.map(({ id }: { id: string }) => id)).toEqual(['acme/network'])
  const searches = host.requests.filter(({ route }) => route === SEARCH)
  expect(searches[0]?.query).toMatchObject({ q: 'netw', page: '1', limit: '2' })
  expect(searches[1]?.query).toMatchObject({ q: 'netw', page: '2', limit: '2' })
})

test('owners of repositories are listed', async () => {
  const { tokenId } = await connect({ 'GET /api/v1/user/orgs': () => ({ body: [{ name: 'acme' }] }) })

  const owners = await get(`oauth-tokens/${tokenId}/vcs-organizations`)

  expect(owners.json().data.map(({ id }: { id: string }) => id)).toEqual(['mona', 'acme'])
})

test('a repository is checked by its identifier', async () => {
  const { tokenId } = await connect({
    'GET /api/v1/repos/acme/network': () => ({ body: repository() }),
    ...MISSING,
  })
  const path = `organizations/${acme.name}/vcs/repo?oauth_token_id=${tokenId}`

  const [known, unknown] = [await get(`${path}&identifier=acme/network`), await get(`${path}&identifier=acme/other`)]

  expect(known.json().data).toEqual({
    id: 'acme/network',
    type: 'vcs-repo-check',
    attributes: { exists: true, identifier: 'acme/network' },
  })
  expect(unknown.json().data.attributes.exists).toBe(false)
})

test('directories come from git', async () => {
  const git = await serveGit()
  const repository = makeRepository(git.root, 'network')
  repository.commit({ 'main.tf': '', 'modules/subnet/main.tf': '', 'modules/vpc/main.tf': '' })
  repository.git('checkout', '-q', '-b', 'other')
  repository.commit({ 'later/main.tf': '' })
  repository.git('checkout', '-q', 'main')
  const { tokenId } = await connect(
    {},
    {
      'service-provider': 'git',
      'http-url': git.url,
      'oauth-token-username': USER.username,
      'oauth-token-string': USER.password,
    },
  )
  const query = `oauth_token_id=${tokenId}&identifier=network`
  const read = async (path: string) => get(`organizations/${acme.name}/vcs/${path}`)
  const paths = async (path: string) => (await read(path)).json().data.map(({ id }: { id: string }) => id)

  expect(await paths(`tree?${query}`)).toEqual(['modules', 'modules/subnet', 'modules/vpc'])
  expect(await paths(`tree?${query}&branch=other`)).toContain('later')
  expect((await read(`tree?${query}&branch=missing`)).status).toBe(404)
  expect((await read(`repo?${query}`)).json().data.attributes.exists).toBe(true)
  expect((await read(`repo?oauth_token_id=${tokenId}&identifier=missing`)).json().data.attributes.exists).toBe(false)
  expect((await read('tree?identifier=network')).status).toBe(422)
})

test.each([
  [401, 422, /refused the token/],
  [403, 422, /does not permit it/],
  [502, 503, /502/],
])('a host that answers %i is a %i with its words', async (status, expected, words) => {
  const { tokenId } = await connect({ [SEARCH]: () => ({ status, body: {} }) })

  const refused = await get(`oauth-tokens/${tokenId}/authorized-repos`)

  expect(refused.status).toBe(expected)
  expect(refused.json().errors[0].detail).toMatch(words)
})

test('a host that does not answer is given up after ten seconds', async () => {
  const { tokenId } = await connect({ [SEARCH]: () => () => {} })
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms === 10_000 ? 50 : ms))
  onTestFinished(() => spy.mockRestore())

  const refused = await get(`oauth-tokens/${tokenId}/authorized-repos`)

  expect(refused.status).toBe(503)
  expect(refused.json().errors[0].detail).toContain('did not respond (no response within 10 s)')
})

test('a host without a list says so', async () => {
  const { tokenId } = await connect({}, { 'service-provider': 'git', 'oauth-token-username': 'git' })

  const refused = await get(`oauth-tokens/${tokenId}/authorized-repos`)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toContain('enter the identifier')
})

test('only those who may choose a repository see names', async () => {
  const routes = { [SEARCH]: () => ({ body: found('acme/secret') }) }
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const { tokenId } = await connect(routes)
  const limited = await connect(
    routes,
    { 'organization-scoped': false },
    { projects: { data: [{ type: 'projects', id: project.id }] } },
  )
  const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  const member = async (access: Partial<Parameters<typeof createTeamWithAccess>[1]>) => {
    const user = await createUser(app)
    await addMember(app, acme.id, user)
    await createTeamWithAccess(app, { organizationId: acme.id, members: [user], ...access })
    return user.token
  }
  const list = async (id: string, token: string, query = '') =>
    (await get(`oauth-tokens/${id}/authorized-repos${query}`, token)).status

  const plain = await member({})
  const creator = await member({ projects: { [project.id]: 'maintain' } })
  const admin = await member({ workspaces: { [workspace.id]: 'admin' } })
  const stranger = await createUser(app)
  const ofWorkspace = `?workspace=${workspace.id}`

  expect(await list(tokenId, plain)).toBe(404)
  expect(await list(tokenId, stranger.token)).toBe(404)
  expect(await list(tokenId, creator)).toBe(200)
  expect(await list(limited.tokenId, creator)).toBe(200)
  expect(await list(tokenId, admin)).toBe(404)
  expect(await list(tokenId, admin, ofWorkspace)).toBe(200)
  // The workspace is in another project.
  expect(await list(limited.tokenId, admin, ofWorkspace)).toBe(404)
})

test('a connection of the last of many projects is open to those who create workspaces there', async () => {
  const projects = []
  for (let number = 0; number <= 100; number += 1)
    projects.push(await createProject(app, { organization: acme.name, actor: owner.actor, name: `p-${1000 + number}` }))
  const { id } = projects.at(-1) ?? {}
  const scope = { projects: { data: [{ type: 'projects', id }] } }
  const routes = { [SEARCH]: () => ({ body: found('acme/secret') }) }
  const { tokenId } = await connect(routes, { 'organization-scoped': false }, scope)
  const user = await createUser(app)
  await addMember(app, acme.id, user)
  const granted = Object.fromEntries(projects.map((project) => [project.id, 'maintain' as const]))
  await createTeamWithAccess(app, { organizationId: acme.id, members: [user], projects: granted })

  const { status } = await get(`oauth-tokens/${tokenId}/authorized-repos`, user.token)

  expect(status).toBe(200)
})
