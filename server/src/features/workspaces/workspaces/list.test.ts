import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const rival = await createOrganization(app, await createUser(app))
const production = await createProject(app, { organization: acme.name, actor: owner.actor, name: 'production' })

const workspaces = new Map<string, string>()
for (const [name, tags] of [
  ['api-dev', ['app', 'dev']],
  ['api-prod', ['app', 'prod']],
  ['db_prod', ['prod']],
  ['web-dev', ['app', 'dev', 'legacy']],
  ['web-prod', ['app', 'prod']],
] as const) {
  const projectId = name === 'web-prod' ? production.id : undefined
  app.clock.advance(1000)
  const workspace = await createWorkspace(app, {
    organization: acme.name,
    actor: owner.actor,
    name,
    tags,
    ...(projectId && { projectId }),
  })
  workspaces.set(name, workspace.id)
  await createWorkspace(app, { organization: rival.name, name, tags })
}
await bind('workspaces', 'api-prod', { team: 'payments' })
await bind('workspaces', 'api-dev', { team: 'core' })
await bind('projects', production.id, { team: 'payments', tier: 'gold' })

async function bind(type: 'workspaces' | 'projects', key: string, tags: Record<string, string>) {
  const data = Object.entries(tags).map(([key, value]) => ({ type: 'tag-bindings', attributes: { key, value } }))
  const url = `/api/v2/${type}/${workspaces.get(key) ?? key}/tag-bindings`
  const res = await app.request({ method: 'PATCH', url, token: owner.token, body: { data } })
  expect(res.status).toBe(200)
}

async function list(query = '', token = owner.token) {
  return app.request({ url: `/api/v2/organizations/${acme.name}/workspaces?${query}`, token })
}

async function names(query = '', token = owner.token): Promise<string[]> {
  const res = await list(query, token)
  expect(res.status).toBe(200)
  const { data, meta } = res.json()
  const found = data.map((workspace: any) => workspace.attributes.name)
  expect(meta.pagination['total-count']).toBe(found.length)
  return found
}

const all = ['api-dev', 'api-prod', 'db_prod', 'web-dev', 'web-prod']

test.each([
  ['', all],
  ['sort=-name', all.toReversed()],
  ['search[name]=PROD', ['api-prod', 'db_prod', 'web-prod']],
  ['search[name]=b_p', ['db_prod']],
  ['search[name]=%25', []],
  ['search[wildcard-name]=*-dev', ['api-dev', 'web-dev']],
  ['search[wildcard-name]=api*', ['api-dev', 'api-prod']],
  ['search[wildcard-name]=*p*', ['api-dev', 'api-prod', 'db_prod', 'web-prod']],
  ['search[tags]=app', ['api-dev', 'api-prod', 'web-dev', 'web-prod']],
  ['search[tags]=app,dev', ['api-dev', 'web-dev']],
  ['search[tags]=app,missing', []],
  ['search[tags]=app&search[exclude-tags]=legacy,prod', ['api-dev']],
  ['filter[tagged][0][key]=team', ['api-dev', 'api-prod', 'web-prod']],
  ['filter[tagged][0][key]=team&filter[tagged][0][value]=payments', ['api-prod', 'web-prod']],
  [
    'filter[tagged][0][key]=team&filter[tagged][0][value]=payments&filter[tagged][1][key]=tier&filter[tagged][1][value]=',
    ['web-prod'],
  ],
  ['filter[tagged][0][key]=app&filter[tagged][0][value]=&search[tags]=app,prod', ['api-prod', 'web-prod']],
  [
    'filter[tagged][0][key]=tier&filter[tagged][1][key]=team&filter[tagged][1][value]=core&filter[tag-union]=true',
    ['api-dev', 'web-prod'],
  ],
  ['filter[tagged][0][key]=team&filter[tag-value-default-null]=true', []],
  ['filter[tagged][0][key]=legacy&filter[tag-value-default-null]=true', ['web-dev']],
  [`filter[project][id]=${production.id}`, ['web-prod']],
  ['filter[project][id]=prj-missing', []],
  ['filter[current-run][status]=applied', []],
  ['filter[run-group]=none,errored', all],
  ['filter[run-group]=errored', []],
  ['filter[locked]=false&filter[drifted]=false', all],
  ['filter[locked]=true', []],
  ['filter[engine-version]=0.0.1', []],
  ['sort=latest-change-at', all],
  ['sort=-latest-change-at', all.toReversed()],
  ['junk=1&TagBindings=%7Ba%7D', all],
])('the query %j finds %j', async (query, expected) => {
  const found = await names(query)

  expect(found).toEqual(expected)
})

test('a list is sorted by the age of current runs', async () => {
  const found = await names('sort=-current-run.created-at')

  expect(found.toSorted()).toEqual(all)
})

test('pages do not overlap, and a page past the end is empty', async () => {
  const first = await list('page[size]=2')
  const third = await list('page[size]=2&page[number]=3')
  const past = await list('page[size]=2&page[number]=9')
  const far = await list(`page[size]=100&page[number]=${'9'.repeat(30)}`)

  expect(first.json().meta.pagination).toEqual({
    'current-page': 1,
    'page-size': 2,
    'prev-page': null,
    'next-page': 2,
    'total-pages': 3,
    'total-count': 5,
  })
  expect(third.json().data.map((workspace: any) => workspace.attributes.name)).toEqual(['web-prod'])
  expect(past.json()).toMatchObject({ data: [], meta: { pagination: { 'current-page': 9, 'total-count': 5 } } })
  expect([far.status, far.json().data]).toEqual([200, []])
})

test.each(['page[size]=x', 'page[number]=0', 'sort=color'])('the query %s is rejected', async (query) => {
  const res = await list(query)

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.parameter).toBe(query.split('=')[0])
})

test('a member sees and counts only granted workspaces', async () => {
  const user = await createUser(app)
  const id = (name: string) => workspaces.get(name) ?? ''
  const nothing = await createTeamWithAccess(app, { members: [user], organizationId: acme.id })
  expect(nothing).toBeDefined()
  const none = await names('', user.token)
  await createTeamWithAccess(app, {
    members: [user],
    organizationId: acme.id,
    workspaces: { [id('db_prod')]: 'read', [id('web-prod')]: 'write' },
  })
  const some = await names('', user.token)
  await createTeamWithAccess(app, { members: [user], organizationId: acme.id, projects: { [production.id]: 'read' } })
  const withProject = await list('', user.token)

  expect(none).toEqual([])
  expect(some).toEqual(['db_prod', 'web-prod'])
  expect(withProject.json().meta.pagination['total-count']).toBe(2)
  const [database, web] = withProject.json().data
  expect(database.attributes.permissions).toMatchObject({ 'can-lock': false, 'can-queue-apply': false })
  expect(web.attributes.permissions).toMatchObject({ 'can-lock': true, 'can-queue-apply': true, 'can-update': false })
  expect(await names('search[name]=prod', user.token)).toEqual(['db_prod', 'web-prod'])
  expect(await names('search[tags]=app', user.token)).toEqual(['web-prod'])
})

test('a deleted team, membership or project removes its workspaces from the list immediately', async () => {
  const [user, other] = [await createUser(app), await createUser(app)]
  await addMember(app, acme.id, other)
  await createTeamWithAccess(app, { members: [user, other], organizationId: acme.id })
  const grants = { organizationId: acme.id, workspaces: { [workspaces.get('api-dev') ?? '']: 'read' as const } }
  const teamId = await createTeamWithAccess(app, { ...grants, members: [user, other] })
  const movable = await createWorkspace(app, { organization: acme.name, projectId: production.id, name: 'zz-movable' })
  await createTeamWithAccess(app, { members: [user], organizationId: acme.id, projects: { [production.id]: 'read' } })
  const before = await names('', user.token)

  const member = { data: [{ type: 'users', id: other.username }] }
  const team = `/api/v2/teams/${teamId}`
  await app.request({ method: 'DELETE', url: `${team}/relationships/users`, token: owner.token, body: member })
  const expelled = await names('', other.token)
  await app.request({ method: 'DELETE', url: team, token: owner.token })
  const disbanded = await names('', user.token)
  const project = { data: { type: 'projects', id: acme.default_project_id } }
  const body = { data: { type: 'workspaces', relationships: { project } } }
  await app.request({ method: 'PATCH', url: `/api/v2/workspaces/${movable.id}`, token: owner.token, body })
  const moved = await names('', user.token)

  expect(before).toEqual(['api-dev', 'web-prod', 'zz-movable'])
  expect([expelled, disbanded, moved]).toEqual([[], ['web-prod', 'zz-movable'], ['web-prod']])
  await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${movable.id}`, token: owner.token })
})

test('a member with access to all workspaces sees all', async () => {
  const user = await createUser(app)
  await createTeamWithAccess(app, {
    members: [user],
    organizationId: acme.id,
    organization: { read_workspaces: true },
  })

  expect(await names('', user.token)).toEqual(all)
})

test('few and many grants give the same list', async () => {
  const organization = await createOrganization(app, owner)
  const ids: string[] = []
  for (let i = 0; i < 60; i += 1) {
    const name = `ws-${String(i).padStart(2, '0')}`
    ids.push((await createWorkspace(app, { organization: organization.name, actor: owner.actor, name })).id)
  }
  const [few, many] = [await createUser(app), await createUser(app)]
  const access = (granted: readonly string[]) => Object.fromEntries(granted.map((id) => [id, 'read' as const]))
  const organizationId = organization.id
  await createTeamWithAccess(app, { members: [few], organizationId, workspaces: access([ids[3] ?? '', ids[50] ?? '']) })
  await createTeamWithAccess(app, { members: [many], organizationId, workspaces: access(ids.slice(0, 55)) })
  await createTeamWithAccess(app, { members: [many], organizationId, workspaces: access(ids.slice(20, 58)) })
  const url = `/api/v2/organizations/${organization.name}/workspaces`

  const seldom = await app.request({ url, token: few.token })
  const often = await app.request({ url: `${url}?page[size]=50&page[number]=2`, token: many.token })

  expect(seldom.json().data.map((workspace: any) => workspace.id)).toEqual([ids[3], ids[50]])
  expect(often.json().data.map((workspace: any) => workspace.id)).toEqual(ids.slice(50, 58))
  expect(often.json().meta.pagination['total-count']).toBe(58)
})

test('effective tags are included with their workspaces', async () => {
  const res = await list('include=effective_tag_bindings&search[name]=web-prod')

  const [workspace] = res.json().data
  const linked = workspace.relationships['effective-tag-bindings'].data.map((item: any) => item.id)
  const included = res.json().included
  expect(included.map((item: any) => item.id).toSorted()).toEqual(linked.toSorted())
  expect(included.map((item: any) => `${item.attributes.key}=${item.attributes.value}`).toSorted()).toEqual([
    'team=payments',
    'tier=gold',
  ])
})
