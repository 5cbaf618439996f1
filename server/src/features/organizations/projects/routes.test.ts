import { createWorkspaceBody } from '@groundstate/contract/workspaces'
import { expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createWorkspace as createWorkspaceIn } from '../../workspaces/workspaces/service.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const url = `/api/v2/organizations/${acme.name}/projects`

async function create(attributes: object, relationships: object = {}, token = owner.token) {
  const body = { data: { type: 'projects', attributes, relationships } }
  return app.request({ method: 'POST', url, token, body })
}

async function newProject(name?: string) {
  return createProject(app, { organization: acme.name, actor: owner.actor, ...(name !== undefined && { name }) })
}

async function destroy(id: string, token = owner.token) {
  return app.request({ method: 'DELETE', url: `/api/v2/projects/${id}`, token })
}

test('a project is created with tags, shown and changed', async () => {
  const tags = { data: [{ type: 'tag-bindings', attributes: { key: 'team', value: 'core' } }] }

  const created = await create({ name: 'Big project', description: 'ours' }, { 'tag-bindings': tags })
  const { id } = created.json().data
  const body = { data: { type: 'projects', attributes: { name: 'renamed', 'auto-destroy-activity-duration': '14d' } } }
  const changed = await app.request({ method: 'PATCH', url: `/api/v2/projects/${id}`, token: owner.token, body })

  expect(created.status).toBe(201)
  expect(created.json().data).toMatchObject({
    id: expect.stringMatching(/^prj-/),
    type: 'projects',
    attributes: {
      name: 'Big project',
      description: 'ours',
      'workspace-count': 0,
      'default-execution-mode': 'remote',
      'setting-overwrites': { 'default-execution-mode': false },
      permissions: { 'can-update': true, 'can-create-workspace': true },
    },
    relationships: { organization: { data: { id: acme.name, type: 'organizations' } } },
  })
  expect(changed.json().data.attributes).toMatchObject({
    name: 'renamed',
    description: 'ours',
    'auto-destroy-activity-duration': '14d',
  })
  const effective = await app.request({ url: `/api/v2/projects/${id}/effective-tag-bindings`, token: owner.token })
  expect(effective.json().data[0].attributes).toMatchObject({ key: 'team', value: 'core' })
})

test.each([
  [{}, '/data/attributes/name', 'name is missing'],
  [{ name: 'bad/name' }, '/data/attributes/name', 'Name may only contain'],
  [{ name: 'Default Project' }, '/data/attributes/name', 'already been taken'],
  [{ name: 'p', 'auto-destroy-activity-duration': '1y' }, '/data/attributes/auto-destroy-activity-duration', 'format'],
  [
    { name: 'p', 'default-execution-mode': 'agent' },
    '/data/attributes/default-agent-pool-id',
    "Default agent pool must be specified when using 'agent' execution mode",
  ],
  [
    { name: 'p', 'default-execution-mode': 'remote', 'default-agent-pool-id': 'apool-1' },
    '/data/attributes/default-agent-pool-id',
    "Agent pool must not be specified unless using 'agent' execution mode",
  ],
  [
    { name: 'p', 'default-execution-mode': 'agent', 'default-agent-pool-id': 'apool-1' },
    '/data/attributes/default-agent-pool-id',
    'The provided agent pool does not exist or you are not authorized to use it',
  ],
  [
    { name: 'p', 'setting-overwrites': { 'default-execution-mode': true, 'default-agent-pool': false } },
    '/data/attributes/setting-overwrites',
    'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
  ],
])('attributes %j are rejected', async (attributes, pointer, detail) => {
  const res = await create(attributes)

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe(pointer)
  expect(res.json().errors[0].detail).toContain(detail)
})

test('a list finds projects by their exact names and by a part of them', async () => {
  await newProject('alpha')
  await newProject('alphabet')
  const names = async (query: string) => {
    const res = await app.request({ url: `${url}?${query}`, token: owner.token })
    return res.json().data.map((project: any) => project.attributes.name)
  }

  expect(await names('filter[names]=alpha')).toEqual(['alpha'])
  expect(await names('filter[names]=alpha,Default%20Project')).toEqual(['Default Project', 'alpha'])
  expect(await names('q=ALPHA')).toEqual(['alpha', 'alphabet'])
})

test('a member lists the projects granted to teams; others do not exist', async () => {
  const [granted, hidden] = [await newProject(), await newProject()]
  const member = await createUser(app)
  await createTeamWithAccess(app, { members: [member], organizationId: acme.id, projects: { [granted.id]: 'read' } })

  const list = await app.request({ url, token: member.token })
  const shown = await app.request({ url: `/api/v2/projects/${granted.id}`, token: member.token })
  const missing = await app.request({ url: `/api/v2/projects/${hidden.id}`, token: member.token })

  expect(list.json().data.map((project: any) => project.id)).toEqual([granted.id])
  expect(list.json().meta.pagination['total-count']).toBe(1)
  expect(shown.json().data.attributes.permissions).toMatchObject({ 'can-read': true, 'can-update': false })
  expect(missing.status).toBe(404)
  expect((await destroy(granted.id, member.token)).status).toBe(403)
  expect((await create({ name: 'mine' }, {}, member.token)).status).toBe(403)
})

test('a list filtered by permission has the projects with that permission, at every level', async () => {
  const member = await createUser(app)
  const teamId = await createTeamWithAccess(app, { members: [member], organizationId: acme.id })
  const levels = (['read', 'write', 'maintain', 'admin', 'custom'] as const).flatMap((access) =>
    (['read', 'update', 'delete'] as const).flatMap((project_settings) =>
      [false, true].map((workspace_create) => ({ access, project_settings, workspace_create })),
    ),
  )
  for (const [index, level] of levels.entries()) {
    const { id: project_id } = await newProject(`level-${index}`)
    const row = { id: `tprj-level-${index}`, team_id: teamId, project_id, created_at: app.now(), ...level }
    await app.db.insertInto('team_projects').values(row).execute()
  }
  type Listed = { id: string; attributes: { permissions: Record<string, boolean> } }
  const list = async (query = ''): Promise<Listed[]> =>
    (await app.request({ url: `${url}?page[size]=100${query}`, token: member.token })).json().data
  const ids = (projects: Listed[]) => projects.map(({ id }) => id)

  const all = await list()
  const updated = await list('&filter[permissions][update]=true')
  const populated = await list('&filter[permissions][create-workspace]=true')

  const allowing = (name: string) => ids(all.filter(({ attributes }) => attributes.permissions[name]))
  expect(all).toHaveLength(levels.length)
  expect(ids(updated)).toEqual(allowing('can-update'))
  expect(ids(populated)).toEqual(allowing('can-create-workspace'))
  // The other columns of the row must not add to the level, such as settings of `read`.
  expect([updated.length, populated.length]).toEqual([6 + 4, 6 + 6 + 3])
})

test("a list can be filtered by the caller's permissions", async () => {
  const [read, maintained, administered, custom] = [
    await newProject('p-read'),
    await newProject('p-maintained'),
    await newProject('p-administered'),
    await newProject('p-custom'),
  ]
  const member = await createUser(app)
  await createTeamWithAccess(app, {
    members: [member],
    organizationId: acme.id,
    projects: { [read.id]: 'read', [maintained.id]: 'maintain', [administered.id]: 'admin', [custom.id]: 'custom' },
  })
  await app.db
    .updateTable('team_projects')
    .set({ project_settings: 'update' })
    .where('project_id', '=', custom.id)
    .execute()
  const list = async (query: string, token = member.token) => {
    const { data, meta } = (await app.request({ url: `${url}?q=p-&${query}`, token })).json()
    expect(meta.pagination['total-count']).toBe(data.length)
    return data.map((project: { attributes: { name: string } }) => project.attributes.name)
  }
  const all = ['p-administered', 'p-custom', 'p-maintained', 'p-read']

  expect(await list('filter[permissions][update]=true')).toEqual(['p-administered', 'p-custom'])
  expect(await list('filter[permissions][create-workspace]=true')).toEqual(['p-administered', 'p-maintained'])
  expect(await list('filter[permissions][update]=false')).toEqual(all)
  expect(await list('filter[permissions][update]=true', owner.token)).toEqual(all)
  expect((await app.request({ url: `${url}?filter[permissions][update]=x`, token: owner.token })).status).toBe(422)
})

test('a project with workspaces, and the default project, cannot be deleted', async () => {
  const [from, to] = [await newProject(), await newProject()]
  const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor, projectId: from.id })

  const refused = await destroy(from.id)
  const moved = await app.request({
    method: 'POST',
    url: `/api/v2/projects/${to.id}/relationships/workspaces`,
    token: owner.token,
    body: { data: [{ type: 'workspaces', id: workspace.id }] },
  })
  const deleted = await destroy(from.id)
  const remaining = await destroy(acme.default_project_id ?? '')

  expect(refused.status).toBe(409)
  expect(refused.json().errors[0].detail).toContain('1 workspace')
  expect([moved.status, deleted.status, remaining.status]).toEqual([204, 204, 403])
  const shown = await app.request({ url: `/api/v2/projects/${to.id}`, token: owner.token })
  expect(shown.json().data.attributes['workspace-count']).toBe(1)
})

test('a project is not deleted while a workspace is created in it', async () => {
  const { id } = await newProject()
  const relationships = { project: { data: { type: 'projects', id } } }
  const body = { data: { type: 'workspaces', attributes: { name: 'created-meanwhile' }, relationships } }

  const { refused } = await transact(app.as(owner.actor), async (ctx) => {
    await createWorkspaceIn(ctx, acme.name, { input: createWorkspaceBody.parse(body).data })
    return { refused: destroy(id) }
  })

  expect((await refused).status).toBe(409)
})

test('two moves in opposite directions both succeed', async () => {
  const [a, b] = [await newProject(), await newProject()]
  const make = (projectId: string) =>
    createWorkspace(app, { organization: acme.name, actor: owner.actor, projectId }).then(({ id }) => id)
  const [left, right] = [
    await Promise.all([make(a.id), make(a.id), make(a.id)]),
    await Promise.all([make(b.id), make(b.id), make(b.id)]),
  ]
  const move = (projectId: string, ids: readonly string[]) =>
    app.request({
      method: 'POST',
      url: `/api/v2/projects/${projectId}/relationships/workspaces`,
      token: owner.token,
      body: { data: ids.map((id) => ({ type: 'workspaces', id })) },
    })

  const responses = await Promise.all([move(b.id, left), move(a.id, right)])

  expect(responses.map((response) => response.status)).toEqual([204, 204])
  const shown = await Promise.all(
    [a, b].map(({ id }) => app.request({ url: `/api/v2/projects/${id}`, token: owner.token })),
  )
  expect(shown.map((response) => response.json().data.attributes['workspace-count'])).toEqual([3, 3])
})

test('a workspace of another organization cannot be moved in', async () => {
  const project = await newProject()
  const elsewhere = await createOrganization(app, owner)
  const foreign = await createWorkspace(app, { organization: elsewhere.name })

  const res = await app.request({
    method: 'POST',
    url: `/api/v2/projects/${project.id}/relationships/workspaces`,
    token: owner.token,
    body: { data: [{ type: 'workspaces', id: foreign.id }] },
  })

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe('/data/0/id')
})
