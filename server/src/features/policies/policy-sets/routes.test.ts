import type { AppliedPolicySetResource } from '@groundstate/contract/policy-sets'
import { beforeAll, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { archiveOf } from '../../../testing/archives.ts'
import { type TestUser, createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createTeam } from '../../../testing/teams.ts'
import { requireEvaluationBundle } from '../policy-set-versions/bundle.ts'
import { listEffectivePolicySets } from './service.ts'

const app = await createTestApp()
let user: TestUser
let organization: { id: string; name: string }
let next = 0
beforeAll(async () => {
  user = await createUser(app)
  organization = await createOrganization(app, user)
})

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

async function send(method: Method, url: string, data?: unknown, token = user.token) {
  return app.request({ method, url: `/api/v2${url}`, token, ...(data !== undefined && { body: { data } }) })
}

async function createSet(attributes: object = {}, relationships: object = {}) {
  next += 1
  const data = { type: 'policy-sets', attributes: { name: `set-${next}`, kind: 'opa', ...attributes }, relationships }
  const response = await send('POST', `/organizations/${organization.name}/policy-sets`, data)
  expect(response.text && response.status).toBe(201)
  return response.json().data
}

async function createPolicy(code?: string) {
  next += 1
  const attributes = { name: `policy-${next}`, kind: 'opa', query: 'data.terraform.deny' }
  const response = await send('POST', `/organizations/${organization.name}/policies`, { type: 'policies', attributes })
  const { id } = response.json().data
  if (code !== undefined)
    await app.request({
      method: 'PUT',
      url: `/api/v2/policies/${id}/upload`,
      token: user.token,
      body: Buffer.from(code),
    })
  return id as string
}

async function upload(setId: string, content: Buffer) {
  const created = (await send('POST', `/policy-sets/${setId}/versions`)).json().data
  const url = new URL(created.links.upload)
  const response = await app.request({ method: 'PUT', url: url.pathname, body: content })
  const version = (await send('GET', `/policy-set-versions/${created.id}`)).json().data
  return { response, version }
}

const GOOD = {
  'policies.hcl':
    'policy "tags" {\n  query = "data.terraform.deny"\n  enforcement_level = "mandatory"\n  description = "all have tags"\n}\npolicy "cost" {\n  query = "data.cost.deny"\n}\n',
  'rules/tags.rego': 'package terraform\n',
}

test.each(['sentinel', 'tfpolicy'])('the kind %s is refused by name', async (kind) => {
  const data = { type: 'policy-sets', attributes: { name: 'other', kind } }

  const response = await send('POST', `/organizations/${organization.name}/policy-sets`, data)

  expect(response.status).toBe(422)
  expect(response.json().errors[0]).toMatchObject({
    detail: expect.stringMatching(new RegExp(`kind is "${kind}".*not supported.*opa`)),
    source: { pointer: '/data/attributes/kind' },
  })
})

test('a version becomes current once its archive is valid', async () => {
  const set = await createSet()

  const { response, version } = await upload(set.id, archiveOf(GOOD))

  expect(response.status).toBe(200)
  expect(version.attributes).toMatchObject({
    status: 'ready',
    policies: [
      { name: 'cost', 'enforcement-level': 'advisory' },
      { name: 'tags', 'enforcement-level': 'mandatory', description: 'all have tags' },
    ],
  })
  const shown = (await send('GET', `/policy-sets/${set.id}?include=current_version`)).json()
  expect(shown.data.attributes).toMatchObject({ versioned: true, 'policy-count': 2 })
  expect(shown.included[0].id).toBe(version.id)
})

test('a manager who replaces a list keeps the workspaces that they may not see', async () => {
  const workspace = await createWorkspace(app, { organization: organization.name })
  const data = [{ type: 'workspaces', id: workspace.id }]
  const set = await createSet({}, { workspaces: { data } })
  const manager = await createUser(app)
  await createTeam(app, organization.id, { members: [manager], columns: { manage_policies: true } })

  const relationships = { workspaces: { data: [] } }
  const changed = await send('PATCH', `/policy-sets/${set.id}`, { type: 'policy-sets', relationships }, manager.token)

  expect(changed.json().data.attributes['workspace-count']).toBe(0)
  const shown = (await send('GET', `/policy-sets/${set.id}`)).json().data
  expect(shown.relationships.workspaces.data).toEqual(data)
})

test('an upload URL of a version is void with the token for which it was made', async () => {
  const set = await createSet()
  const url = `/organizations/${organization.name}/authentication-token`
  const { token } = (await send('POST', url, {})).json().data.attributes
  const version = (await send('POST', `/policy-sets/${set.id}/versions`, undefined, token)).json().data
  await send('DELETE', url)

  const { pathname } = new URL(version.links.upload)
  const refused = await app.request({ method: 'PUT', url: pathname, body: archiveOf(GOOD) })

  expect(refused.status).toBe(403)
})

test.each([
  ['has no policies.hcl', { 'a.rego': 'package a' }],
  ['Sentinel is not supported', { 'sentinel.hcl': '', 'a.sentinel': '' }],
  ['has no .rego file', { 'policies.hcl': GOOD['policies.hcl'] }],
  ['is defined 2 times', { ...GOOD, 'policies.hcl': 'policy "a" {\n query = "a"\n}\npolicy "a" {\n query = "b"\n}' }],
  [
    'it must be advisory or mandatory',
    { ...GOOD, 'policies.hcl': 'policy "a" {\n query = "a"\n enforcement_level = "soft"\n}' },
  ],
  ['has no query', { ...GOOD, 'policies.hcl': 'policy "a" {\n}' }],
  ['query must be a text in quotes', { ...GOOD, 'policies.hcl': 'policy "a" {\n query = data.a\n}' }],
  ['is not valid HCL: policies.hcl:1', { ...GOOD, 'policies.hcl': 'policy "a" {' }],
  ['has module; it may only', { ...GOOD, 'policies.hcl': 'module "a" {\n}' }],
  ['policies.hcl is larger than', { ...GOOD, 'policies.hcl': '#'.repeat(256 * 1024 + 1) }],
  ['has a path with ..', { '../policies.hcl': '' }],
])('an archive that %s publishes nothing', async (detail, files) => {
  const set = await createSet()
  const { version: first } = await upload(set.id, archiveOf(GOOD))

  const { response, version } = await upload(set.id, archiveOf(files))

  expect(response.status).toBe(422)
  expect(response.json().errors[0].detail).toContain(detail)
  expect(version.attributes).toMatchObject({ status: 'errored', policies: [] })
  expect(version.attributes['error-message']).toContain(detail)
  const shown = (await send('GET', `/policy-sets/${set.id}`)).json().data
  expect(shown.relationships['current-version'].data.id).toBe(first.id)
  expect(shown.relationships['newest-version'].data.id).toBe(version.id)
})

test('the versions of a set are listed with their creators, the newest first', async () => {
  const set = await createSet()
  const { version: first } = await upload(set.id, archiveOf(GOOD))
  const { version: second } = await upload(set.id, archiveOf({ 'a.rego': 'package a' }))

  const listed = (await send('GET', `/policy-sets/${set.id}/versions?include=created_by`)).json()
  const page = (await send('GET', `/policy-sets/${set.id}/versions?page[size]=1&page[number]=2`)).json()

  expect(listed.data).toEqual([second, first])
  expect(listed.data[0].relationships['created-by'].data.id).toBe(user.id)
  expect(listed.included.map(({ id }: { id: string }) => id)).toEqual([user.id])
  expect(page.data).toEqual([first])
  expect(page.meta.pagination['total-count']).toBe(2)
})

test('policies are read from the directory of the set, which is shown as written', async () => {
  const set = await createSet({ 'policies-path': '/policies/opa/' })

  const { version } = await upload(
    set.id,
    archiveOf({ 'policies/opa/policies.hcl': GOOD['policies.hcl'], 'policies/opa/a.rego': '' }),
  )

  expect(version.attributes.status).toBe('ready')
  expect(set.attributes['policies-path']).toBe('/policies/opa/')
})

test('attached policies are bundled once for each content', async () => {
  const policy = await createPolicy('package terraform\n')
  const set = await createSet({}, { policies: { data: [{ type: 'policies', id: policy }] } })

  const first = await requireEvaluationBundle(app.as(), set.id)
  const second = await requireEvaluationBundle(app.as(), set.id)
  await app.request({
    method: 'PUT',
    url: `/api/v2/policies/${policy}/upload`,
    token: user.token,
    body: Buffer.from('package b\n'),
  })
  const third = await requireEvaluationBundle(app.as(), set.id)

  expect(first).toMatchObject({ versionId: null, policies: [{ query: 'data.terraform.deny' }] })
  expect(second.digest).toBe(first.digest)
  expect(third.digest).not.toBe(first.digest)
})

test('a set with versions takes no policies, and one with policies no versions', async () => {
  const policy = await createPolicy()
  const versioned = await createSet()
  await upload(versioned.id, archiveOf(GOOD))
  const attached = await createSet({}, { policies: { data: [{ type: 'policies', id: policy }] } })

  const added = await send('POST', `/policy-sets/${versioned.id}/relationships/policies`, [
    { type: 'policies', id: policy },
  ])
  const created = await send('POST', `/policy-sets/${attached.id}/versions`)

  expect([added.status, created.status]).toEqual([422, 422])
})

test('sets apply by workspace, project, tag and globally, except where they are excluded', async () => {
  const workspace = await createWorkspace(app, { organization: organization.name })
  const id = workspace.id
  const shown = (await send('GET', `/workspaces/${id}`)).json().data
  const project = shown.relationships.project.data.id
  await send('PATCH', `/workspaces/${id}/tag-bindings`, [
    { type: 'tag-bindings', attributes: { key: 'env', value: 'prod' } },
  ])
  const policies = { data: [{ type: 'policies', id: await createPolicy() }] }
  const workspaces = { data: [{ type: 'workspaces', id }] }
  const projects = { data: [{ type: 'projects', id: project }] }
  const tag = (value: string | null, exclude: boolean) => [
    { 'tag-key': 'env', 'tag-value': value, 'is-exclude': exclude },
  ]
  const make = async (name: string, attributes: object, relationships: object = {}) =>
    createSet({ name, ...attributes }, { policies, ...relationships })
  await make('a-workspace', {}, { workspaces })
  await make('b-project', {}, { projects })
  await make('c-tag', { 'tag-selectors': tag('prod', false) })
  await make('d-any-tag', { 'tag-selectors': tag(null, false) })
  await make('e-global', { global: true })
  await make('f-other-tag', { 'tag-selectors': tag('dev', false) })
  await make('g-none', {})
  await make('h-excluded', { global: true }, { 'workspace-exclusions': workspaces })
  await make('i-excluded-project', {}, { workspaces, 'project-exclusions': projects })
  await make('j-excluded-tag', { global: true, 'tag-selectors': tag('prod', true) })
  await createSet({ name: 'k-empty', global: true })

  const sets = await listEffectivePolicySets(app.as(), { id, organization_id: organization.id, project_id: project })

  expect(sets.map(({ name }) => name)).toEqual(['a-workspace', 'b-project', 'c-tag', 'd-any-tag', 'e-global'])
  const listed = (await send('GET', `/workspaces/${id}/applied-policy-sets`)).json()
  const rows: { attributes: AppliedPolicySetResource['attributes'] }[] = listed.data
  const text = (reason: AppliedPolicySetResource['attributes']['reasons'][number]) =>
    reason.scope === 'tag' ? `${reason['tag-key']}=${reason['tag-value'] ?? '*'}` : reason.scope
  expect(rows.map(({ attributes: { name, status } }) => `${name} ${status}`)).toEqual([
    'a-workspace applied',
    'b-project applied',
    'c-tag applied',
    'd-any-tag applied',
    'e-global applied',
    'h-excluded excluded',
    'i-excluded-project excluded',
    'j-excluded-tag excluded',
    'k-empty empty',
  ])
  expect(rows.map(({ attributes }) => [attributes.reasons.map(text), attributes.exclusions.map(text)])).toEqual([
    [['workspace'], []],
    [['project'], []],
    [['env=prod'], []],
    [['env=*'], []],
    [['organization'], []],
    [['organization'], ['workspace']],
    [['workspace'], ['project']],
    [['organization'], ['env=prod']],
    [['organization'], []],
  ])
  expect(rows[0]?.attributes).toMatchObject({ 'mandatory-count': 0, 'advisory-count': 1 })
})

test('a workspace cannot escape a set by overriding a reserved tag of its project', async () => {
  const { id } = await createWorkspace(app, { organization: organization.name })
  const project = (await send('GET', `/workspaces/${id}`)).json().data.relationships.project.data.id
  const binding = (value: string) => [{ type: 'tag-bindings', attributes: { key: 'tier', value } }]
  await send('PATCH', `/projects/${project}/tag-bindings`, binding('critical'))
  await send('PATCH', `/workspaces/${id}/tag-bindings`, binding('low'))
  const policies = { data: [{ type: 'policies', id: await createPolicy() }] }
  const selectors = [{ 'tag-key': 'tier', 'tag-value': 'critical' }]
  const set = await createSet({ 'tag-selectors': selectors }, { policies })
  const applies = async () => {
    const workspace = { id, organization_id: organization.id, project_id: project }
    return (await listEffectivePolicySets(app.as(), workspace)).some((one) => one.id === set.id)
  }

  const overridden = await applies()
  const reserved = { type: 'reserved-tag-keys', attributes: { key: 'tier', 'disable-overrides': true } }
  await send('POST', `/organizations/${organization.name}/reserved-tag-keys`, reserved)

  expect(overridden).toBe(false)
  expect(await applies()).toBe(true)
})

test('a set that becomes global loses its attachments, and takes no others', async () => {
  const workspace = await createWorkspace(app, { organization: organization.name })
  const data = [{ type: 'workspaces', id: workspace.id }]
  const set = await createSet({}, { workspaces: { data } })

  const updated = await send('PATCH', `/policy-sets/${set.id}`, { type: 'policy-sets', attributes: { global: true } })
  const added = await send('POST', `/policy-sets/${set.id}/relationships/workspaces`, data)
  const excluded = await send('POST', `/policy-sets/${set.id}/relationships/workspace-exclusions`, data)

  expect(updated.json().data.attributes).toMatchObject({ global: true, 'workspace-count': 0 })
  expect([added.status, excluded.status]).toEqual([422, 204])
})

test('a sensitive parameter is not shown, and stays secret', async () => {
  const set = await createSet()
  const attributes = { key: 'token', value: 'hidden', category: 'policy-set', sensitive: true }

  const created = await send('POST', `/policy-sets/${set.id}/parameters`, { type: 'vars', attributes })
  const url = `/policy-sets/${set.id}/parameters/${created.json().data.id}`
  const revealed = await send('PATCH', url, { type: 'vars', attributes: { sensitive: false } })
  const renamed = await send('PATCH', url, { type: 'vars', attributes: { key: 'key' } })

  expect(created.json().data.attributes).toEqual({ key: 'token', value: null, category: 'policy-set', sensitive: true })
  expect(revealed.status).toBe(422)
  expect(renamed.json().data.attributes).toMatchObject({ key: 'key', value: null })
})

test('an unknown version of OPA is refused with those that are enabled', async () => {
  const data = { type: 'policy-sets', attributes: { name: 'opa', kind: 'opa', 'policy-tool-version': '0.0.1' } }

  const response = await send('POST', `/organizations/${organization.name}/policy-sets`, data)

  expect(response.json().errors[0].detail).toMatch(/it must be latest or an enabled version of OPA: 1\.4\.2/)
})

test('code that is not UTF-8 or too large is refused', async () => {
  const policy = await createPolicy()
  const put = async (body: Buffer) =>
    app.request({ method: 'PUT', url: `/api/v2/policies/${policy}/upload`, token: user.token, body })

  const statuses = [
    await put(Buffer.from([0xff])),
    await put(Buffer.alloc(1024 * 1024 + 1, ' ')),
    await put(Buffer.from('package a')),
  ]

  expect(statuses.map(({ status }) => status)).toEqual([422, 413, 200])
  const downloaded = await send('GET', `/policies/${policy}/download`)
  expect(downloaded.text).toBe('package a')
})
