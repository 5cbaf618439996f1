import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const pool = await send('POST', `organizations/${acme.name}/agent-pools`, 'agent-pools', { name: 'ours' })
const poolId: string = pool.json().data.id

async function send(method: 'POST' | 'PATCH', path: string, type: string, attributes: object, relationships = {}) {
  const body = { data: { type, attributes, relationships } }
  return app.request({ method, url: `/api/v2/${path}`, token: owner.token, body })
}

async function newWorkspace(attributes: Record<string, unknown> = {}, projectId?: string) {
  const place = { organization: acme.name, actor: owner.actor, ...(projectId !== undefined && { projectId }) }
  return createWorkspace(app, { ...place, attributes })
}

async function patch(id: string, attributes: object, relationships: object = {}) {
  const response = await send('PATCH', `workspaces/${id}`, 'workspaces', attributes, relationships)
  return { status: response.status, ...response.json() }
}

test.each(['/db', 'db/', './db', '/', ''])('the working directory %j is stored unchanged', async (path) => {
  const { id } = await newWorkspace()

  const { status, data } = await patch(id, { 'working-directory': path })

  expect(status).toBe(200)
  expect(data.attributes['working-directory']).toBe(path)
})

test.each([
  ['trigger-prefixes', 'trigger-patterns'],
  ['trigger-patterns', 'trigger-prefixes'],
])('%s replace %s', async (one, other) => {
  const { id } = await newWorkspace({ [other]: ['/old'] })

  const changed = await patch(id, { [one]: ['/new'] })
  const emptied = await patch(id, { [other]: [] })

  expect(changed.data.attributes).toMatchObject({ [one]: ['/new'], [other]: [] })
  expect(emptied.data.attributes).toMatchObject({ [one]: [], [other]: [] })
})

test('trigger prefixes are accepted only with empty patterns', async () => {
  const { id } = await newWorkspace()

  const fine = await patch(id, { 'trigger-prefixes': ['/a'], 'trigger-patterns': [] })
  const both = await patch(id, { 'trigger-prefixes': ['/b'], 'trigger-patterns': ['/b/**'] })

  expect(fine.data.attributes).toMatchObject({ 'trigger-prefixes': ['/a'], 'trigger-patterns': [] })
  expect(both).toMatchObject({
    status: 422,
    errors: [
      {
        detail: 'trigger-prefixes and trigger-patterns cannot both be set: omit one of them or leave it empty',
        source: { pointer: '/data/attributes/trigger-patterns' },
      },
    ],
  })
})

function autoDestroy({ data }: { data: { attributes: Record<string, unknown> } }) {
  const { attributes } = data
  return {
    duration: attributes['auto-destroy-activity-duration'],
    at: attributes['auto-destroy-at'],
    inherits: attributes['inherits-project-auto-destroy'],
  }
}

test('a workspace inherits its auto-destroy duration unless it sets one, and again after a reset', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const { id, latest_change_at } = await newWorkspace({}, project.id)
  const after = (hours: number) => new Date(latest_change_at.getTime() + hours * 3_600_000).toISOString()

  const without = await patch(id, {})
  await send('PATCH', `projects/${project.id}`, 'projects', { 'auto-destroy-activity-duration': '14d' })
  const inherited = await patch(id, {})
  const own = await patch(id, { 'auto-destroy-activity-duration': '36h' })
  const reset = await patch(id, { 'auto-destroy-activity-duration': null })
  const never = await patch(id, { 'inherits-project-auto-destroy': false })
  const echoed = await patch(id, { 'inherits-project-auto-destroy': true, 'auto-destroy-activity-duration': '14d' })

  expect(autoDestroy(without)).toEqual({ duration: null, at: null, inherits: true })
  expect(autoDestroy(inherited)).toEqual({ duration: '14d', at: after(14 * 24), inherits: true })
  expect(autoDestroy(own)).toEqual({ duration: '36h', at: after(36), inherits: false })
  expect(autoDestroy(reset)).toEqual(autoDestroy(inherited))
  expect(autoDestroy(never)).toEqual({ duration: null, at: null, inherits: false })
  expect(autoDestroy(echoed)).toEqual(autoDestroy(inherited))
})

test("a workspace's auto-destroy time overrides the inherited duration", async () => {
  const { id } = await newWorkspace({ 'auto-destroy-at': '2030-01-02T03:04:05Z' })

  const set = await patch(id, {})
  const reset = await patch(id, { 'auto-destroy-at': null })

  expect(autoDestroy(set)).toEqual({ duration: null, at: '2030-01-02T03:04:05.000Z', inherits: false })
  expect(autoDestroy(reset)).toEqual({ duration: null, at: null, inherits: true })
})

test('an auto-destroy time and an activity duration replace each other, and null clears either', async () => {
  const { id } = await newWorkspace({ 'auto-destroy-activity-duration': '36h' })
  const at = '2030-01-02T03:04:05.000Z'

  const time = await patch(id, { 'auto-destroy-at': at })
  const kept = await patch(id, { 'auto-destroy-activity-duration': null })
  const duration = await patch(id, { 'auto-destroy-activity-duration': '14d' })
  const derived = duration.data.attributes['auto-destroy-at']
  const echoed = await patch(id, { 'auto-destroy-at': derived, 'auto-destroy-activity-duration': '14d' })
  // The provider sends this with every change of a workspace that has a duration.
  const unset = await patch(id, { 'auto-destroy-at': null })
  const cleared = await patch(id, { 'auto-destroy-activity-duration': null })

  expect(autoDestroy(time)).toEqual({ duration: null, at, inherits: false })
  expect(autoDestroy(kept)).toEqual(autoDestroy(time))
  expect(autoDestroy(duration)).toMatchObject({ duration: '14d', inherits: false })
  expect(autoDestroy(duration).at).not.toBe(at)
  expect([autoDestroy(echoed), autoDestroy(unset)]).toEqual([autoDestroy(duration), autoDestroy(duration)])
  expect(autoDestroy(cleared)).toEqual({ duration: null, at: null, inherits: true })
})

test.each([
  [
    { 'auto-destroy-at': '2030-01-02T03:04:05Z', 'auto-destroy-activity-duration': '14d' },
    'auto-destroy-at and auto-destroy-activity-duration cannot both be set: omit one of them or set it to null',
  ],
  [{ 'auto-destroy-activity-duration': '0h' }, 'Auto destroy activity duration is "0h"; it must be above 0'],
])('auto-destroy settings %j are rejected', async (attributes, detail) => {
  const { id } = await newWorkspace()

  const refused = await patch(id, attributes)

  const source = { pointer: '/data/attributes/auto-destroy-activity-duration' }
  expect(refused).toMatchObject({ status: 422, errors: [{ detail, source }] })
})

test.each(['trigger-prefixes', 'trigger-patterns'])('%s need file triggers', async (name) => {
  const { id } = await newWorkspace({ [name]: ['/a'] })

  const disabled = await patch(id, { 'file-triggers-enabled': false })
  const both = await patch(id, { 'file-triggers-enabled': false, [name]: ['/b'] })
  const emptied = await patch(id, { 'file-triggers-enabled': false, [name]: [] })
  const readded = await patch(id, { [name]: ['/c'] })
  const described = await patch(id, { description: 'unrelated' })
  const restored = await patch(id, { 'file-triggers-enabled': true, [name]: ['/c'] })
  const defaults = await patch(id, { 'file-triggers-enabled': null })

  const detail = `file-triggers-enabled is false and ${name} is not empty: enable file triggers or empty ${name}`
  const pointers = [disabled, both, readded].map(({ errors }) => errors[0].source.pointer.split('/').at(-1))
  for (const refused of [disabled, both, readded]) expect(refused).toMatchObject({ status: 422, errors: [{ detail }] })
  expect(pointers).toEqual(['file-triggers-enabled', 'file-triggers-enabled', name])
  expect(emptied.data.attributes).toMatchObject({ 'file-triggers-enabled': false, [name]: [] })
  expect([described.status, restored.status, defaults.status]).toEqual([200, 200, 200])
})

test('a new workspace with patterns but without file triggers is rejected', async () => {
  const refused = await send('POST', `organizations/${acme.name}/workspaces`, 'workspaces', {
    name: 'untriggered',
    'file-triggers-enabled': false,
    'trigger-patterns': ['/a/**'],
  })

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/file-triggers-enabled')
})

test.each([
  ['workspaces', 'hyok-enabled', true],
  ['workspaces', 'migration-environment', 'legacy/production'],
  ['organizations', 'assessments-enforced', true],
  ['organizations', 'enforce-hyok', true],
  ['organizations', 'max-ttl-enabled', true],
])('%s refuse a setting of a feature that does not exist: %s', async (type, name, value) => {
  const { id } = await newWorkspace()
  const path = type === 'workspaces' ? `workspaces/${id}` : `organizations/${acme.name}`
  const without = typeof value === 'boolean' ? false : null

  const refused = await send('PATCH', path, type, { [name]: value })
  const accepted = await send('PATCH', path, type, { [name]: without })

  expect(refused.status).toBe(422)
  expect(refused.json().errors).toMatchObject([
    {
      detail: expect.stringContaining(`${name} must be ${without}: `),
      source: { pointer: `/data/attributes/${name}` },
    },
  ])
  expect(accepted.status).toBe(200)
  expect(accepted.json().data.attributes[name]).toBe(without)
})

const related = (id: string | null) => ({ 'agent-pool': { data: id === null ? null : { type: 'agent-pools', id } } })

test('the agent pool may be a relationship, and null removes it', async () => {
  const { id } = await newWorkspace()

  const set = await patch(id, { 'execution-mode': 'agent' }, related(poolId))
  const refused = await patch(id, {}, related(null))
  const removed = await patch(id, { 'execution-mode': 'remote' }, related(null))

  expect(set.data.relationships['agent-pool'].data.id).toBe(poolId)
  expect(refused).toMatchObject({ status: 422, errors: [{ source: { pointer: '/data/relationships/agent-pool' } }] })
  expect(removed.data.relationships['agent-pool'].data).toBeNull()
})

test.each([
  [{ 'execution-mode': 'remote' }, () => related(poolId), "unless using 'agent' execution mode"],
  [{}, () => related(poolId), "unless using 'agent' execution mode"],
  [{ 'execution-mode': 'agent' }, () => related('apool-none'), 'The provided agent pool does not exist'],
])('an agent pool that a workspace cannot have is rejected: %j', async (attributes, relationships, detail) => {
  const { id } = await newWorkspace()

  const refused = await patch(id, attributes, relationships())

  expect(refused).toMatchObject({
    status: 422,
    errors: [{ detail: expect.stringContaining(detail), source: { pointer: '/data/relationships/agent-pool' } }],
  })
})

test.each([
  ['remote', () => ({ 'default-agent-pool-id': poolId }), {}, '/data/attributes/default-agent-pool-id'],
  [undefined, () => ({ 'default-agent-pool-id': poolId }), {}, '/data/attributes/default-agent-pool-id'],
  ['local', () => ({}), () => poolId, '/data/relationships/default-agent-pool'],
  ['agent', () => ({}), () => null, '/data/relationships/default-agent-pool'],
  ['agent', () => ({ 'default-agent-pool-id': null }), {}, '/data/attributes/default-agent-pool-id'],
])("a project's pool needs the mode agent, and the mode needs a pool: %s", async (mode, own, id, pointer) => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const relationships = typeof id === 'function' ? { 'default-agent-pool': related(id())['agent-pool'] } : {}
  const attributes = { ...(mode !== undefined && { 'default-execution-mode': mode }), ...own() }

  const refused = await send('PATCH', `projects/${project.id}`, 'projects', attributes, relationships)

  expect(refused.status).toBe(422)
  expect(refused.json().errors).toMatchObject([{ source: { pointer } }])
})

test.each([
  ['remote', () => poolId],
  ['agent', () => null],
])("an organization's pool needs the mode agent, and the mode needs a pool: %s", async (mode, id) => {
  const relationships = { 'default-agent-pool': related(id())['agent-pool'] }
  const attributes = { 'default-execution-mode': mode }

  const changed = await send('PATCH', `organizations/${acme.name}`, 'organizations', attributes, relationships)

  expect(changed.status).toBe(422)
  expect(changed.json().errors).toMatchObject([{ source: { pointer: '/data/relationships/default-agent-pool' } }])
})

test('a new organization cannot have a default agent pool, since it has no pools', async () => {
  const relationships = { 'default-agent-pool': related(poolId)['agent-pool'] }

  const created = await send(
    'POST',
    'organizations',
    'organizations',
    { name: 'new', email: 'a@b.test' },
    relationships,
  )

  expect(created.status).toBe(422)
  expect(created.json().errors).toMatchObject([{ source: { pointer: '/data/relationships/default-agent-pool' } }])
})
