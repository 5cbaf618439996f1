import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { readRunVariables } from './effective-variables.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function newWorkspace(projectId?: string) {
  return createWorkspace(app, {
    organization: acme.name,
    actor: owner.actor,
    ...(projectId !== undefined && { projectId }),
  })
}

let count = 0
async function create(attributes: object = {}, relationships: object = {}, token = owner.token) {
  count += 1
  const body = { data: { type: 'varsets', attributes: { name: `set-${count}`, ...attributes }, relationships } }
  return app.request({ method: 'POST', url: `/api/v2/organizations/${acme.name}/varsets`, token, body })
}

async function newSet(attributes: object = {}, relationships: object = {}) {
  const res = await create(attributes, relationships)
  expect(res.status).toBe(201)
  return res.json().data
}

async function send(method: 'POST' | 'PATCH' | 'DELETE', url: string, body: object, token = owner.token) {
  return app.request({ method, url: `/api/v2/${url}`, token, body })
}

async function names(url: string, token = owner.token) {
  const res = await app.request({ url: `/api/v2/${url}`, token })
  return res.json().data.map((item: any) => item.attributes.name)
}

function vars(pairs: Record<string, string>) {
  const data = Object.entries(pairs).map(([key, value]) => ({
    type: 'vars',
    attributes: { key, value, category: 'terraform' },
  }))
  return { vars: { data } }
}

const to = (type: string, ...ids: string[]) => ({ [type]: { data: ids.map((id) => ({ type, id })) } })

test('a set is created with its variables and workspaces, changed and deleted', async () => {
  const workspace = await newWorkspace()

  const created = await create(
    { name: 'shared', description: 'ours' },
    { ...vars({ a: '1' }), ...to('workspaces', workspace.id) },
  )
  const { id } = created.json().data
  const shown = await app.request({ url: `/api/v2/varsets/${id}?include=vars,workspaces,projects`, token: owner.token })
  const changed = await send('PATCH', `varsets/${id}`, {
    data: { type: 'varsets', attributes: { global: true }, relationships: to('workspaces') },
  })
  const deleted = await app.request({ method: 'DELETE', url: `/api/v2/varsets/${id}`, token: owner.token })
  const afterDeletion = await app.request({ url: `/api/v2/varsets/${id}`, token: owner.token })

  expect(created.status).toBe(201)
  expect(created.json().data).toMatchObject({
    id: expect.stringMatching(/^varset-/),
    type: 'varsets',
    attributes: {
      name: 'shared',
      description: 'ours',
      global: false,
      priority: false,
      'var-count': 1,
      'workspace-count': 1,
      permissions: { 'can-update': true },
    },
    relationships: {
      organization: { data: { id: acme.name, type: 'organizations' } },
      workspaces: { data: [{ id: workspace.id, type: 'workspaces' }] },
    },
  })
  expect(shown.json().included.map((item: any) => item.type)).toEqual(['workspaces', 'vars'])
  expect(changed.json().data.attributes).toMatchObject({ global: true, name: 'shared', 'workspace-count': 0 })
  expect([deleted.status, afterDeletion.status]).toEqual([204, 404])
})

test('a name is unique', async () => {
  await newSet({ name: 'unique' })

  const res = await create({ name: 'Unique' })

  expect(res.status).toBe(422)
  expect(res.json().errors[0]).toMatchObject({ source: { pointer: '/data/attributes/name' } })
})

test('variables of a set are created, listed, changed and deleted', async () => {
  const set = await newSet()
  const url = `varsets/${set.id}/relationships/vars`
  const body = (attributes: object) => ({ data: { type: 'vars', attributes } })

  const created = await send('POST', url, body({ key: 'k', value: 's3cret', category: 'env', sensitive: true }))
  const { id } = created.json().data
  const changed = await send('PATCH', `${url}/${id}`, body({ description: 'x' }))
  const listed = await app.request({ url: `/api/v2/${url}`, token: owner.token })
  const deleted = await app.request({ method: 'DELETE', url: `/api/v2/${url}/${id}`, token: owner.token })
  const again = await app.request({ method: 'DELETE', url: `/api/v2/${url}/${id}`, token: owner.token })

  expect([created.status, changed.status, deleted.status, again.status]).toEqual([201, 200, 204, 404])
  expect(created.json().data.relationships.varset.data).toEqual({ id: set.id, type: 'varsets' })
  expect(listed.json().data).toHaveLength(1)
  expect(listed.text).not.toContain('s3cret')
})

test('a variable of a set shown in a workspace lists what it overwrites and what overwrites it', async () => {
  const workspace = await newWorkspace()
  const own = (
    await send('POST', `workspaces/${workspace.id}/vars`, {
      data: { type: 'vars', attributes: { key: 'zone', value: 'own', category: 'env' } },
    })
  ).json().data.id
  const variable = (key: string) => ({ type: 'vars', attributes: { key, value: 'set', category: 'env' } })
  const weak = await newSet({}, { vars: { data: [variable('zone')] }, ...to('workspaces', workspace.id) })
  const strong = await newSet(
    { priority: true },
    { vars: { data: [variable('zone')] }, ...to('workspaces', workspace.id) },
  )
  const elsewhere = await newSet({}, { vars: { data: [variable('zone')] } })
  const idOf = (set: typeof weak) => set.relationships.vars.data[0].id
  const variables = (set: typeof weak, rest = '') =>
    app.request({
      url: `/api/v2/workspaces/${workspace.id}/varsets/${set.id}/relationships/vars${rest}`,
      token: owner.token,
    })

  const overwritten = (await variables(weak)).json().data
  const overwriting = (await variables(strong, `/${idOf(strong)}`)).json().data

  expect(overwritten.map(({ id }: { id: string }) => id)).toEqual([idOf(weak)])
  expect(overwritten[0].relationships).toMatchObject({
    overwriter: { data: { id: idOf(strong), type: 'vars' } },
    overwritten: { data: [] },
  })
  expect(overwriting.relationships).toMatchObject({
    overwriter: { data: null },
    overwritten: { data: [own, idOf(weak)].map((id) => ({ id, type: 'vars' })) },
  })
  expect([(await variables(elsewhere)).status, (await variables(weak, `/${own}`)).status]).toEqual([404, 404])
})

test('an update of a set adds variables, and changes those with an id', async () => {
  const set = await newSet({}, vars({ zone: 'a' }))
  const id = set.relationships.vars.data[0].id
  const change = async (...data: object[]) =>
    send('PATCH', `varsets/${set.id}`, { data: { type: 'varsets', relationships: { vars: { data } } } })
  const added = { type: 'vars', attributes: { key: 'size', value: 'xl', category: 'terraform' } }

  const done = await change({ type: 'vars', id, attributes: { value: 'b' } }, added)
  const taken = await change(added)
  const unknown = await change({ type: 'vars', id: 'var-0000000000000000' })
  const incomplete = await change({ type: 'vars', attributes: { key: 'bare' } })
  const list = await app.request({ url: `/api/v2/varsets/${set.id}/relationships/vars`, token: owner.token })

  expect(done.status).toBe(200)
  expect(done.json().data.attributes['var-count']).toBe(2)
  expect(list.json().data.map(({ attributes: { key, value } }: any) => [key, value])).toEqual([
    ['size', 'xl'],
    ['zone', 'b'],
  ])
  expect(taken.json().errors[0].source.pointer).toBe('/data/relationships/vars/data/0/attributes/key')
  expect(unknown.json().errors[0].source.pointer).toBe('/data/relationships/vars/data/0/id')
  expect(incomplete.status).toBe(422)
})

test('the list of an organization can leave out the sets of its projects', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const own = await newSet({ name: 'scope-own' })
  await newSet({ name: 'scope-project' }, { parent: { data: { type: 'projects', id: project.id } } })

  expect(await names(`organizations/${acme.name}/varsets?q=scope-`)).toEqual(['scope-own', 'scope-project'])
  expect(await names(`organizations/${acme.name}/varsets?q=scope-&scope=owned`)).toEqual([own.attributes.name])
})

test('sets apply to workspaces directly, through their project and globally', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const [inside, outside] = [await newWorkspace(project.id), await newWorkspace()]
  const global = await newSet({ global: true })
  const byProject = await newSet()
  const direct = await newSet()
  const owned = await newSet({ global: true }, { parent: { data: { type: 'projects', id: project.id } } })

  const attached = [
    await send('POST', `varsets/${byProject.id}/relationships/projects`, to('projects', project.id)['projects'] ?? {}),
    await send(
      'POST',
      `varsets/${direct.id}/relationships/workspaces`,
      to('workspaces', outside.id)['workspaces'] ?? {},
    ),
  ]

  expect(attached.map((res) => res.status)).toEqual([204, 204])
  const sorted = (...sets: readonly any[]) => sets.map((set) => set.attributes.name as string).sort()
  const name = (set: any) => set.attributes.name
  expect(await names(`workspaces/${inside.id}/varsets`)).toEqual(sorted(global, byProject, owned))
  expect(await names(`workspaces/${outside.id}/varsets`)).toEqual(sorted(global, direct))
  expect(await names(`workspaces/${outside.id}/applicable-varsets`)).toContain(name(byProject))
  expect(await names(`workspaces/${outside.id}/applicable-varsets`)).not.toContain(name(owned))
  expect(await names(`projects/${project.id}/varsets`)).toEqual(sorted(global, byProject, owned))
  expect(await names(`projects/${project.id}/varsets?scope=owned`)).toEqual([name(owned)])
  const refused = await send(
    'POST',
    `varsets/${owned.id}/relationships/workspaces`,
    to('workspaces', outside.id)['workspaces'] ?? {},
  )
  expect(refused.status).toBe(422)
  await app.request({ method: 'DELETE', url: `/api/v2/varsets/${global.id}`, token: owner.token })
})

test('a run gets each key once, decrypted, by precedence', async () => {
  const workspace = await newWorkspace()
  const value = (text: string) => ({ value: text })
  await newSet({ priority: true }, { ...vars({ forced: 'set' }), ...to('workspaces', workspace.id) })
  await newSet({}, { ...vars({ a: 'set', b: 'set', c: 'set' }), ...to('workspaces', workspace.id) })
  for (const [key, sensitive] of [
    ['a', true],
    ['b', false],
    ['forced', false],
  ] as const) {
    const attributes = { key, ...value('workspace'), category: 'terraform', sensitive }
    await send('POST', `workspaces/${workspace.id}/vars`, { data: { type: 'vars', attributes } })
  }

  const resolve = await readRunVariables(app.as(), {
    workspaceId: workspace.id,
    organizationId: workspace.organization_id,
  })
  const resolved = await resolve([
    { key: 'b', value: '"run"' },
    { key: 'forced', value: '"run"' },
  ])

  const byKey = Object.fromEntries(resolved.map((variable) => [variable.key, variable]))
  expect(resolved).toHaveLength(4)
  expect(byKey).toMatchObject({
    a: { value: 'workspace', sensitive: true, hcl: false, category: 'terraform' },
    b: { value: '"run"', hcl: true },
    c: { value: 'set' },
    forced: { value: 'set', hcl: false },
  })
  const all = await app.request({ url: `/api/v2/workspaces/${workspace.id}/all-vars`, token: owner.token })
  expect(all.json().data.map((item: any) => [item.attributes.key, item.attributes.value])).toEqual([
    ['a', null],
    ['b', 'workspace'],
    ['c', 'set'],
    ['forced', 'set'],
  ])
})

test('the list of all variables shows the effective ones, what they overwrite and their sources', async () => {
  const workspace = await newWorkspace()
  const forced = await newSet({ priority: true }, { ...vars({ region: 'forced' }), ...to('workspaces', workspace.id) })
  const usual = await newSet({}, { ...vars({ region: 'usual', size: 'set' }), ...to('workspaces', workspace.id) })
  for (const [key, category] of [
    ['region', 'terraform'],
    ['region', 'env'],
    ['size', 'terraform'],
  ]) {
    const attributes = { key, value: 'own', category }
    await send('POST', `workspaces/${workspace.id}/vars`, { data: { type: 'vars', attributes } })
  }
  const url = `/api/v2/workspaces/${workspace.id}/all-vars`
  const { data } = (await app.request({ url: `${url}?overwritten=true`, token: owner.token })).json()
  const winners = (await app.request({ url, token: owner.token })).json().data

  const label = (item: any) => {
    const { key, category, 'in-force-by': by } = item.attributes
    return `${category} ${key} ${by.kind}${by.kind === 'set' ? ` ${by.name} ${by.scope} ${by.priority}` : ''}`
  }
  const labels = new Map<string, string>(data.map((item: any) => [item.id, label(item)]))
  const found = data.map((item: any) => [
    label(item),
    labels.get(item.relationships.overwriter.data?.id) ?? null,
    item.relationships.overwritten.data.map(({ id }: { id: string }) => labels.get(id)),
  ])
  const [ofForced, ofUsual] = [
    `set ${forced.attributes.name} workspace true`,
    `set ${usual.attributes.name} workspace false`,
  ]
  const inForce = [
    ['env region workspace', null, []],
    [`terraform region ${ofForced}`, null, ['terraform region workspace', `terraform region ${ofUsual}`]],
    ['terraform size workspace', null, [`terraform size ${ofUsual}`]],
  ]
  const overwritten = [
    ['terraform region workspace', `terraform region ${ofForced}`, []],
    [`terraform region ${ofUsual}`, `terraform region ${ofForced}`, []],
    [`terraform size ${ofUsual}`, 'terraform size workspace', []],
  ]
  expect(new Set(found)).toEqual(new Set([...inForce, ...overwritten]))
  expect(new Set(winners.map(label))).toEqual(new Set(inForce.map(([name]) => name)))
})

test('members read sets without the workspaces that they may not see', async () => {
  const [visible, hidden] = [await newWorkspace(), await newWorkspace()]
  const set = await newSet({}, to('workspaces', visible.id, hidden.id))
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await createTeamWithAccess(app, { members: [member], organizationId: acme.id, workspaces: { [visible.id]: 'admin' } })
  const url = `/api/v2/varsets/${set.id}`

  const shown = await app.request({ url, token: member.token })
  const changed = await send('PATCH', `varsets/${set.id}`, { data: { type: 'varsets', attributes: {} } }, member.token)
  const unseen = await app.request({ url, token: stranger.token })
  const made = await create({}, {}, member.token)

  expect(shown.json().data.relationships.workspaces.data).toEqual([{ id: visible.id, type: 'workspaces' }])
  expect(shown.json().data.attributes['workspace-count']).toBe(1)
  expect([changed.status, unseen.status, made.status]).toEqual([403, 404, 403])
})

test('variables of a set are shown to members who see a workspace or project where it applies', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const [seen, hidden, inProject] = [await newWorkspace(), await newWorkspace(), await newWorkspace(project.id)]
  const [ofWorkspace, ofProject, nobody] = [await createUser(app), await createUser(app), await createUser(app)]
  const inAcme = { organizationId: acme.id }
  await createTeamWithAccess(app, { ...inAcme, members: [ofWorkspace], workspaces: { [seen.id]: 'read' } })
  await createTeamWithAccess(app, { ...inAcme, members: [ofProject], projects: { [project.id]: 'read' } })
  await createTeamWithAccess(app, { ...inAcme, members: [nobody] })
  const pair = vars({ secret: 'v4lue' })
  const sets = {
    seen: await newSet({}, { ...pair, ...to('workspaces', seen.id, hidden.id) }),
    hidden: await newSet({}, { ...pair, ...to('workspaces', hidden.id) }),
    inProject: await newSet({}, { ...pair, ...to('workspaces', inProject.id) }),
    project: await newSet({}, { ...pair, ...to('projects', project.id) }),
    global: await newSet({ global: true }, pair),
    unused: await newSet({}, pair),
  }
  /** The sets whose variables the user finds by every way. */
  const readable = async ({ token }: { token: string }) => {
    const get = async (url: string) => app.request({ url: `/api/v2/${url}`, token })
    const listed = await get(`organizations/${acme.name}/varsets?include=vars&page[size]=100`)
    const found = []
    for (const [name, set] of Object.entries(sets)) {
      const [id] = set.relationships.vars.data.map((variable: any) => variable.id)
      const shown = await get(`varsets/${set.id}?include=vars`)
      const all = await get(`varsets/${set.id}/relationships/vars`)
      const one = await get(`varsets/${set.id}/relationships/vars/${id}`)
      const inList = listed.json().data.find((item: any) => item.id === set.id)
      expect([listed.status, shown.status, all.status]).toEqual([200, 200, 200])
      const ways = [
        ...[inList, shown.json().data].flatMap((item: any) => [
          item.attributes['var-count'] > 0,
          item.relationships.vars.data.length > 0,
        ]),
        ...[listed, shown].map((res) => res.json().included.some((item: any) => item.id === id)),
        all.text.includes('v4lue'),
        one.status === 200,
      ]
      expect(new Set(ways).size).toBe(1)
      if (ways[0]) found.push(name)
    }
    return found
  }

  expect(await readable(nobody)).toEqual([])
  expect(await readable(ofWorkspace)).toEqual(['seen', 'global'])
  expect(await readable(ofProject)).toEqual(['inProject', 'project', 'global'])
  expect(await readable(owner)).toEqual(Object.keys(sets))
  await app.request({ method: 'DELETE', url: `/api/v2/varsets/${sets.global.id}`, token: owner.token })
})

test('a member of one workspace of a project reads the variables that the project has there', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const workspace = await newWorkspace(project.id)
  const member = await createUser(app)
  const grant = { members: [member], organizationId: acme.id, workspaces: { [workspace.id]: 'read' as const } }
  await createTeamWithAccess(app, grant)
  const set = await newSet({}, { ...vars({ zone: 'eu' }), ...to('projects', project.id) })
  const { token } = member

  const direct = await app.request({ url: `/api/v2/varsets/${set.id}/relationships/vars`, token })
  const inWorkspace = await app.request({
    url: `/api/v2/workspaces/${workspace.id}/varsets/${set.id}/relationships/vars`,
    token,
  })

  expect([direct.json().data.length, inWorkspace.json().data.length]).toEqual([1, 1])
})

test('managers of all workspaces create and change the sets of projects', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const manager = await createUser(app)
  const organization = { manage_workspaces: true }
  await createTeamWithAccess(app, { members: [manager], organizationId: acme.id, organization })
  const data = { type: 'varsets', attributes: { description: 'theirs' } }

  const created = await create({}, { parent: { data: { type: 'projects', id: project.id } } }, manager.token)
  const changed = await send('PATCH', `varsets/${created.json().data?.id}`, { data }, manager.token)

  expect([created.status, changed.status]).toEqual([201, 200])
})

test('resources of another organization are rejected', async () => {
  const other = await createOrganization(app, owner)
  const foreign = await createWorkspace(app, { organization: other.name })
  const set = await newSet()

  const workspace = await send(
    'POST',
    `varsets/${set.id}/relationships/workspaces`,
    to('workspaces', foreign.id)['workspaces'] ?? {},
  )
  const project = await create({}, to('projects', other.default_project_id ?? ''))
  const parent = await create({}, { parent: { data: { type: 'projects', id: other.default_project_id } } })

  expect([workspace.status, project.status, parent.status]).toEqual([422, 422, 422])
  expect(project.json().errors[0].source.pointer).toBe('/data/relationships/projects/data/0/id')
})

test('the workspaces to which a set applies are listed with what overrides its variables', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const [direct, inside, other] = [await newWorkspace(), await newWorkspace(project.id), await newWorkspace()]
  const set = await newSet(
    { name: 'b-set' },
    { ...vars({ region: '1', size: '1' }), ...to('workspaces', direct.id), ...to('projects', project.id) },
  )
  await newSet({ name: 'a-set' }, { ...vars({ region: '2', other: '2' }), ...to('workspaces', direct.id) })
  const attributes = { key: 'size', value: 'own', category: 'terraform' }
  await send('POST', `workspaces/${inside.id}/vars`, { data: { type: 'vars', attributes } })
  const member = await createUser(app)
  await createTeamWithAccess(app, { members: [member], organizationId: acme.id, workspaces: { [direct.id]: 'read' } })
  const list = async (query = '', token = owner.token) => {
    const { data } = (
      await app.request({ url: `/api/v2/varsets/${set.id}/effective-workspaces${query}`, token })
    ).json()
    return data.map(({ id, attributes: { scope, overridden } }: any) => ({ id, scope, overridden }))
  }
  const ofDirect = {
    id: direct.id,
    scope: 'workspace',
    overridden: [{ key: 'region', category: 'terraform', by: 'a-set' }],
  }
  const ofInside = {
    id: inside.id,
    scope: 'project',
    overridden: [{ key: 'size', category: 'terraform', by: null }],
  }

  expect(await list()).toEqual(expect.arrayContaining([ofDirect, ofInside]))
  expect(await list('?filter[scope]=project')).toEqual([ofInside])
  expect(await list(`?q=${direct.name}`)).toEqual([ofDirect])
  expect(await list('', member.token)).toEqual([ofDirect])
  await send('PATCH', `varsets/${set.id}`, { data: { type: 'varsets', attributes: { global: true } } })
  expect(await list(`?q=${other.name}`)).toEqual([{ id: other.id, scope: 'global', overridden: [] }])
})
