import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { countingStatements } from '../../../testing/statements.ts'

const counted = countingStatements()
const app = await createTestApp()
const owner = await createUser(app)
const stranger = await createUser(app)
const acme = await createOrganization(app, owner)
const url = `/api/v2/organizations/${acme.name}/workspaces`

async function create(attributes: object, relationships: object = {}, token = owner.token) {
  const body = { data: { type: 'workspaces', attributes, relationships } }
  return app.request({ method: 'POST', url, token, body })
}

async function patch(id: string, attributes: object, relationships: object = {}, token = owner.token) {
  const body = { data: { type: 'workspaces', attributes, relationships } }
  return app.request({ method: 'PATCH', url: `/api/v2/workspaces/${id}`, token, body })
}

async function newWorkspace(attributes: Record<string, unknown> = {}) {
  return createWorkspace(app, { organization: acme.name, actor: owner.actor, attributes })
}

async function member(access: 'read' | 'plan' | 'write' | 'admin', workspaceId: string) {
  const user = await createUser(app)
  await createTeamWithAccess(app, { members: [user], organizationId: acme.id, workspaces: { [workspaceId]: access } })
  return user
}

test('a new workspace has the defaults of the API', async () => {
  const res = await create({ name: 'defaults' })

  expect(res.status).toBe(201)
  const { data } = res.json()
  expect(data.type).toBe('workspaces')
  expect(data.id).toMatch(/^ws-[1-9A-HJ-NP-Za-km-z]{16}$/)
  expect(data.attributes).toMatchObject({
    name: 'defaults',
    'execution-mode': 'remote',
    operations: true,
    'terraform-version': 'latest',
    'engine-version': 'latest',
    'auto-apply': false,
    'allow-destroy-plan': true,
    'file-triggers-enabled': true,
    'queue-all-runs': false,
    'speculative-enabled': true,
    'structured-run-output-enabled': true,
    'global-remote-state': false,
    'working-directory': '',
    'vcs-repo': null,
    'tag-names': [],
    'trigger-prefixes': [],
    locked: false,
    'resource-count': 0,
    'setting-overwrites': { 'execution-mode': false, 'agent-pool': false },
    actions: { 'is-destroyable': true },
    permissions: { 'can-update': true, 'can-queue-run': true, 'can-queue-apply': true, 'can-force-delete': true },
  })
  expect(data.attributes['created-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(data.relationships.organization.data).toEqual({ id: acme.name, type: 'organizations' })
  expect(data.relationships.project.data).toEqual({ id: acme.default_project_id, type: 'projects' })
  expect(data.relationships['locked-by'].data).toBeNull()
})

test('a workspace is found by id and by case-insensitive names', async () => {
  const workspace = await newWorkspace({ name: 'Named' })

  const byId = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: owner.token })
  const names = `/api/v2/organizations/${acme.name.toUpperCase()}/workspaces/named`
  const byName = await app.request({ url: names, token: owner.token })

  expect(byId.status).toBe(200)
  expect(byName.json()).toEqual(byId.json())
})

test('a workspace is not found by strangers', async () => {
  const workspace = await newWorkspace()

  const responses = await Promise.all([
    app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: stranger.token }),
    app.request({ url: `${url}/${workspace.name}`, token: stranger.token }),
    app.request({ url: '/api/v2/workspaces/ws-nonsense', token: owner.token }),
    app.request({ url, token: stranger.token }),
    patch(workspace.id, { description: 'mine' }, {}, stranger.token),
    app.request({ method: 'DELETE', url: `/api/v2/workspaces/${workspace.id}`, token: stranger.token }),
    app.request({ method: 'POST', url: `/api/v2/workspaces/${workspace.id}/actions/lock`, token: stranger.token }),
    create({ name: 'intruder' }, {}, stranger.token),
  ])

  expect(responses.map((response) => response.status)).toEqual(responses.map(() => 404))
})

test('a request without a token is 401', async () => {
  expect((await app.request({ url })).status).toBe(401)
  expect((await app.request({ url, token: 'garbage' })).status).toBe(401)
})

test('a name is unique in its organization', async () => {
  const other = await createOrganization(app, owner)
  await create({ name: 'twice' })

  const again = await create({ name: 'Twice' })
  const elsewhere = await createWorkspace(app, { organization: other.name, actor: owner.actor, name: 'twice' })

  expect(again.status).toBe(422)
  expect(again.json().errors[0]).toMatchObject({ status: '422', source: { pointer: '/data/attributes/name' } })
  expect(again.json().errors[0].detail).toContain('Name has already been taken')
  const read = await app.request({ url: `/api/v2/organizations/${other.name}/workspaces/twice`, token: owner.token })
  expect(read.json().data.id).toBe(elsewhere.id)
})

test.each([
  [{}, '/data/attributes/name', 'name is missing'],
  [{ name: 'bad name' }, '/data/attributes/name', 'Name may only contain'],
  [{ name: 'x', 'terraform-version': 'nonsense' }, '/data/attributes/terraform-version', 'must be latest, a version'],
  [
    { name: 'x', 'working-directory': '../../etc' },
    '/data/attributes/working-directory',
    'working-directory is "../../etc"; it must be a directory inside the configuration: it has a path with ..',
  ],
  [{ name: 'x', 'working-directory': '/a/../../b' }, '/data/attributes/working-directory', 'it has a path with ..'],
  [{ name: 'x', 'working-directory': 'C:/db' }, '/data/attributes/working-directory', 'it has an absolute path'],
  [{ name: 'x', 'execution-mode': 'magic' }, '/data/attributes/execution-mode', 'it must be one of'],
  [{ name: 'x', 'auto-apply': 'yes' }, '/data/attributes/auto-apply', 'it must be a boolean'],
  [{ name: 'x', 'execution-mode': 'agent' }, '/data/attributes/agent-pool-id', "using 'agent' execution mode"],
  [{ name: 'x', 'agent-pool-id': 'apool-1' }, '/data/attributes/agent-pool-id', "using 'agent' execution mode"],
  [{ name: 'x', 'execution-mode': 'agent', 'agent-pool-id': 'apool-1' }, '/data/attributes/agent-pool-id', 'apool-1'],
  [
    { name: 'x', 'vcs-repo': { identifier: 'a/b' } },
    '/data/attributes/vcs-repo/oauth-token-id',
    "oauth-token-id can't be blank",
  ],
  [
    { name: 'x', 'auto-destroy-activity-duration': '5 years' },
    '/data/attributes/auto-destroy-activity-duration',
    'incorrect format',
  ],
])('attributes %j are rejected', async (attributes, pointer, detail) => {
  const res = await create(attributes)

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe(pointer)
  expect(res.json().errors[0].detail).toContain(detail)
})

test('a project that the caller may not see is reported as missing', async () => {
  const foreign = await createOrganization(app, stranger)
  const project = (id: string) => ({ project: { data: { type: 'projects', id } } })

  const hidden = await create({ name: 'in-hidden' }, project(foreign.default_project_id ?? ''))
  const missing = await create({ name: 'in-missing' }, project('prj-missing'))

  expect([hidden.status, missing.status]).toEqual([422, 422])
  expect(hidden.json().errors[0].detail.replace(foreign.default_project_id, 'prj-missing')).toBe(
    missing.json().errors[0].detail,
  )
  expect(hidden.json().errors[0].source.pointer).toBe('/data/relationships/project/data/id')
})

test('an empty version is the default', async () => {
  const created = await create({ name: 'any-version', 'terraform-version': '' })

  expect(created.status).toBe(201)
  expect(created.json().data.attributes['terraform-version']).toBe('latest')
})

test.each(['1.11.4', 'latest', '~> 1.11', '>= 1.2, < 2.0', '1.99.0-beta2', '1.10.9'])(
  'the version %s is taken as it is',
  async (version) => {
    const workspace = await newWorkspace()

    const res = await patch(workspace.id, { 'terraform-version': version })

    expect(res.status).toBe(200)
    expect(res.json().data.attributes['terraform-version']).toBe(version)
    expect(res.json().data.attributes['engine-version']).toBe(version)
  },
)

test('an update changes only the settings in the body', async () => {
  const workspace = await newWorkspace({ 'auto-apply': true, description: 'before' })

  const res = await patch(workspace.id, { description: null, 'working-directory': 'infra', 'execution-mode': 'local' })

  expect(res.json().data.attributes).toMatchObject({
    'auto-apply': true,
    description: null,
    'working-directory': 'infra',
    'execution-mode': 'local',
    operations: false,
    'setting-overwrites': { 'execution-mode': true },
  })
  const inherits = await patch(workspace.id, { 'setting-overwrites': { 'execution-mode': false } })
  expect(inherits.json().data.attributes['execution-mode']).toBe('remote')
})

test('the execution mode and the agent pool can only be overwritten together', async () => {
  const workspace = await newWorkspace({ 'execution-mode': 'local' })
  const overwrites = { 'execution-mode': false, 'agent-pool': true }

  const changed = await patch(workspace.id, { 'setting-overwrites': overwrites })
  const created = await create({ name: 'contradicting', 'setting-overwrites': overwrites })

  expect([changed.status, created.status]).toEqual([422, 422])
  expect(changed.json().errors[0]).toMatchObject({
    detail: expect.stringContaining('their values must be the same'),
    source: { pointer: '/data/attributes/setting-overwrites' },
  })
  const kept = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: owner.token })
  expect(kept.json().data.attributes['execution-mode']).toBe('local')
})

test("workspaces without own settings follow the organization's defaults", async () => {
  const other = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: other.name, actor: owner.actor })

  await app.request({
    method: 'PATCH',
    url: `/api/v2/organizations/${other.name}`,
    token: owner.token,
    body: { data: { type: 'organizations', attributes: { 'default-execution-mode': 'local' } } },
  })

  const res = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: owner.token })
  expect(res.json().data.attributes['execution-mode']).toBe('local')
})

test('an update moves a workspace to another project', async () => {
  const workspace = await newWorkspace()
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })

  const res = await patch(workspace.id, {}, { project: { data: { type: 'projects', id: project.id } } })

  expect(res.json().data.relationships.project.data.id).toBe(project.id)
  const moved = await app.request({ url: `/api/v2/projects/${project.id}`, token: owner.token })
  expect(moved.json().data.attributes['workspace-count']).toBe(1)
})

test('a reader can read but not change a workspace', async () => {
  const workspace = await newWorkspace()
  const reader = await member('read', workspace.id)

  const read = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: reader.token })
  const changed = await patch(workspace.id, { description: 'mine' }, {}, reader.token)
  const locked = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspace.id}/actions/lock`,
    token: reader.token,
  })

  expect(read.status).toBe(200)
  expect(read.json().data.attributes.permissions).toMatchObject({
    'can-update': false,
    'can-queue-run': false,
    'can-lock': false,
    'can-read-state-versions': true,
  })
  expect([changed.status, locked.status]).toEqual([403, 403])
})

test('includes add resources that the caller may read, and an unknown one is rejected', async () => {
  const workspace = await newWorkspace()
  const reader = await member('read', workspace.id)
  const path = `/api/v2/workspaces/${workspace.id}`

  const full = await app.request({ url: `${path}?include=organization,project,locked_by,outputs`, token: owner.token })
  const partial = await app.request({ url: `${path}?include=organization,project`, token: reader.token })
  const names = 'current_run.plan,latest_run,current_configuration_version,current-state-version,vars,readme,agent_pool'
  const empty = await app.request({ url: `${path}?include=${names}`, token: owner.token })
  const unknown = await app.request({ url: `${path}?include=nonsense`, token: owner.token })

  const types = (res: { json: () => any }) => res.json().included.map((resource: { type: string }) => resource.type)
  expect(types(full)).toEqual(['organizations', 'projects'])
  expect(types(partial)).toEqual(['organizations'])
  expect(empty.json().included).toEqual([])
  expect(unknown.status).toBe(400)
  expect(unknown.json().errors[0].detail).toContain('Invalid include parameter')
})

test('members of the organization can include the agent pool', async () => {
  const workspace = await newWorkspace()
  const pool = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${acme.name}/agent-pools`,
    token: owner.token,
    body: { data: { type: 'agent-pools', attributes: { name: 'included' } } },
  })
  const { id } = pool.json().data
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': id }
  await app.request({
    method: 'PATCH',
    url: `/api/v2/workspaces/${workspace.id}`,
    token: owner.token,
    body: { data: { type: 'workspaces', attributes } },
  })
  const reader = await member('read', workspace.id)

  const shown = await app.request({ url: `/api/v2/workspaces/${workspace.id}?include=agent_pool`, token: reader.token })

  expect(shown.json().data.relationships['agent-pool'].data).toEqual({ id, type: 'agent-pools' })
  expect(shown.json().included).toMatchObject([{ id, type: 'agent-pools', attributes: { name: 'included' } }])
})

test('a read by name needs one query to authenticate and one for the workspace', async () => {
  const workspace = await newWorkspace()
  const reader = await member('read', workspace.id)
  const read = async () => app.request({ url: `${url}/${workspace.name}`, token: reader.token })
  await read()

  const { statements } = await counted(read)

  expect(statements).toBe(2)
})

test('the number of queries does not depend on the size of a page', async () => {
  const organization = await createOrganization(app, owner)
  const list = `/api/v2/organizations/${organization.name}/workspaces`
  await createWorkspace(app, { organization: organization.name, actor: owner.actor, tags: ['a'] })
  const read = async () => app.request({ url: list, token: owner.token })
  await read()
  const one = await counted(read)
  for (let i = 0; i < 9; i += 1) {
    await createWorkspace(app, { organization: organization.name, actor: owner.actor, tags: ['a', 'b'] })
  }

  const ten = await counted(read)

  expect(ten.result.json().data).toHaveLength(10)
  expect(ten.statements).toBe(one.statements)
})
