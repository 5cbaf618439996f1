import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'
import {
  download,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  stateClient,
  upload,
} from '../../../testing/state-versions.ts'

let app: TestApp
let ada: TestUser
let organization: string
let workspace: StateClient

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
  organization = (await createOrganization(app, ada)).name
})

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const SOFT = 'soft_delete_backing_data'

describe('a soft deletion with a malformed body', () => {
  test('is not found by whoever may not delete', async () => {
    const { id } = await workspace.create(rawState({ serial: 1 }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    const answer = await stranger.action(id, SOFT, { 'delete-older-than-n-days': -1 })

    expect(answer.status).toBe(404)
  })

  test('is not found in the hosted edition', async () => {
    const hosted = await createTestApp({ GROUNDSTATE_EDITION: 'hosted' })
    const user = await createUser(hosted)
    const client = await lockedWorkspace(hosted, (await createOrganization(hosted, user)).name, user)
    const { id } = await client.create(rawState({ serial: 1 }))

    expect((await client.action(id, SOFT, { 'delete-older-than-n-days': -1 })).status).toBe(404)
  })
})

test('a member who has to switch two-factor authentication on is told so', async () => {
  const owner = await createUser(app)
  await app.db.updateTable('users').set({ auth_method: 'password' }).where('id', '=', owner.id).execute()
  const { id, name } = await createOrganization(app, owner)
  const client = await lockedWorkspace(app, name, owner)
  const version = await client.create(rawState({ serial: 1, outputs: { region: 'eu' } }))
  const [output] = version.relationships.outputs.data
  await updateOrganization(app.db, id, { collaborator_auth_policy: 'two_factor_mandatory' })
  const stranger = stateClient(app, client, (await createUser(app)).token)

  for (const path of [
    `/workspaces/${client.id}/current-state-version`,
    `/state-versions/${version.id}`,
    `/state-versions/${version.id}/outputs`,
    `/state-version-outputs/${output.id}`,
  ]) {
    const answer = await client.request('GET', path)

    expect([path, answer.status]).toEqual([path, 403])
    expect(answer.json().errors[0].detail).toContain('two-factor')
    expect((await stranger.request('GET', path)).status).toBe(404)
  }
})

test('a version that comes along with its workspace shows what it shows by itself', async () => {
  await app.db.updateTable('organizations').set({ plan: 'standard' }).where('name', '=', organization).execute()
  const { id } = await workspace.create(rawState({ serial: 1, resources: ['one'] }), { state: undefined })
  const pending = await workspace.show(id)
  await upload(app, pending.attributes['hosted-state-upload-url'], rawState({ serial: 1, resources: ['one'] }))

  const { included } = (
    await workspace.request('GET', `/workspaces/${workspace.id}?include=current_state_version`)
  ).json()

  expect(included[0].attributes).toMatchObject({ 'billable-rum-count': 0 })
  expect(included[0].attributes['hosted-json-state-upload-url']).toContain('/_objects/')
  expect(Object.keys(included[0].attributes)).toEqual(Object.keys((await workspace.show(id)).attributes))
})

test.each([
  ['', 0],
  ['"serial":null,', 0],
  ['"serial":1e2,', 100],
])('a state that begins with {%s is rolled back to as any other', async (field, serial) => {
  const raw = Buffer.from(`{${field}"version":4}`)
  const target = await workspace.create(rawState(), {
    serial,
    md5: md5(raw),
    lineage: undefined,
    state: raw.toString('base64'),
  })

  const answer = await workspace.rollBack(target.id)

  expect(answer.status).toBe(201)
  const content = await download(app, answer.json().data.attributes['hosted-state-download-url'])
  expect(content.json()).toEqual({ serial: serial + 1, version: 4 })
})

test('the last snapshot is not deleted, since it will be the current state', async () => {
  await workspace.create(rawState({ serial: 1 }))
  const { id } = await workspace.create(rawState({ serial: 2 }), { intermediate: true })

  const answer = await workspace.action(id, SOFT)

  expect(answer.status).toBe(400)
  expect(answer.json().errors[0].detail).toContain('it becomes the current state version')
})

test('a diff from a version without content is refused with the parameter that named it', async () => {
  const first = await workspace.create(rawState({ serial: 1 }))
  const second = await workspace.create(rawState({ serial: 2 }))
  await workspace.action(first.id, SOFT)

  const answer = await workspace.request('GET', `/state-versions/${second.id}/diff?from=${first.id}`)

  expect(answer.status).toBe(422)
  expect(answer.json().errors).toMatchObject([
    { detail: expect.stringContaining(first.id), source: { parameter: 'from' } },
  ])
})

test.each([
  ['sv-nowhere', 404, 'state version sv-nowhere not found'],
  ['', 422, 'from is empty'],
  ['%20', 422, 'from is empty'],
])('a diff from %j is refused with the parameter that named it', async (from, status, detail) => {
  const { id } = await workspace.create(rawState())

  const answer = await workspace.request('GET', `/state-versions/${id}/diff?from=${from}`)

  expect(answer.status).toBe(status)
  expect(answer.json().errors).toMatchObject([
    { detail: expect.stringContaining(detail), source: { parameter: 'from' } },
  ])
})

test('a roll back to what is not there names it', async () => {
  const answer = await workspace.rollBack('sv-nowhere')

  expect(answer.status).toBe(404)
  expect(answer.json().errors).toMatchObject([
    {
      detail: expect.stringContaining('state version sv-nowhere not found'),
      source: { pointer: '/data/relationships/rollback-state-version' },
    },
  ])
})

describe('days until a deletion', () => {
  const DAYS = 'delete-older-than-n-days'

  test.each([
    ['beside data', { [DAYS]: 'x' }, '/data', `data is missing: ${DAYS} stands in data.attributes`],
    ['beside an empty data', { data: null, [DAYS]: 3 }, '/data', `data is missing: ${DAYS} stands in data.attributes`],
    ['beside the document', { data: { attributes: {} }, [DAYS]: 3 }, `/${DAYS}`, `${DAYS} stands in data.attributes`],
    ['beside the attributes', { data: { [DAYS]: 3 } }, `/data/${DAYS}`, `${DAYS} stands in data.attributes`],
  ])('%s are refused, and nothing is deleted', async (_, body, pointer, detail) => {
    const { id } = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))

    const answer = await workspace.request('POST', `/state-versions/${id}/actions/${SOFT}`, body)

    expect(answer.status).toBe(422)
    expect(answer.json().errors).toMatchObject([{ detail, source: { pointer } }])
    expect((await workspace.show(id)).attributes.status).toBe('finalized')
  })

  test.each([undefined, {}, { data: null }, { data: {} }, { data: { type: 'state-versions' } }])(
    'need not be given: %j',
    async (body) => {
      const { id } = await workspace.create(rawState({ serial: 1 }))
      await workspace.create(rawState({ serial: 2 }))

      expect((await workspace.request('POST', `/state-versions/${id}/actions/${SOFT}`, body)).status).toBe(200)
    },
  )
})

test('a run that is null is none', async () => {
  const answer = await workspace.post(rawState(), {}, { run: { data: null } })

  expect(answer.status).toBe(201)
  expect(answer.json().data.relationships.run).toEqual({ data: null })
})

test.each([
  [{ state: 'e30!' }, 'state', 'state is not valid base64: it has "!"'],
  [{ state: 'QQ==QQ==' }, 'state', 'state is not valid base64: it ends within a byte, or goes on after its padding'],
  [{ 'json-state': '😀' }, 'json-state', 'json-state is not valid base64: it has "😀"'],
  [{ 'json-state-outputs': 'e30=e30=' }, 'json-state-outputs', 'json-state-outputs is not valid base64: it ends'],
  [
    { 'json-state-outputs': 'W10=' },
    'json-state-outputs',
    'json-state-outputs: it must be an object of outputs by name',
  ],
  [
    { 'json-state-outputs': 'eyJhIjoxfQ==' },
    'json-state-outputs',
    'json-state-outputs: the output "a" is not an object',
  ],
])('%j is refused with a pointer and the reason', async (attributes, name, detail) => {
  const answer = await workspace.post(rawState(), attributes)

  expect(answer.status).toBe(422)
  expect(answer.json().errors).toMatchObject([
    { detail: expect.stringContaining(detail), source: { pointer: `/data/attributes/${name}` } },
  ])
})

test.each([
  ['serial', { serial: 4 }, 412],
  ['serial', { serial: 5, outputs: { other: 'x' } }, 409],
  ['lineage', { serial: 6, lineage: 'another' }, 409],
])('a %s that does not follow the current state is pointed at', async (name, content, status) => {
  await workspace.create(rawState({ serial: 5 }))

  const answer = await workspace.post(rawState(content))

  expect(answer.status).toBe(status)
  expect(answer.json().errors[0].source).toEqual({ pointer: `/data/attributes/${name}` })
})

test('a list takes one workspace', async () => {
  const names = `filter[workspace][name]=${workspace.name}&filter[workspace][name]=other`

  const answer = await workspace.request('GET', `/state-versions?filter[organization][name]=${organization}&${names}`)

  expect(answer.status).toBe(422)
  expect(answer.json().errors).toMatchObject([
    {
      detail: 'filter[workspace][name] is given 2 times: it must name one',
      source: { parameter: 'filter[workspace][name]' },
    },
  ])
})

test('a downloaded state is kept by no cache', async () => {
  const { attributes } = await workspace.create(rawState())

  const answer = await download(app, attributes['hosted-state-download-url'])

  expect(answer.headers['cache-control']).toBe('no-store')
})
