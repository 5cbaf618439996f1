import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { download, lockedWorkspace, rawState, type StateClient, stateClient } from '../../../testing/state-versions.ts'

const DAY_MS = 86_400_000
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
const RESTORE = 'restore_backing_data'
const PERMANENT = 'permanently_delete_backing_data'

describe('roll back', () => {
  test('makes a copy with the next serial current, whose bytes differ in the serial alone', async () => {
    const raw = rawState({ serial: 1, outputs: { region: 'eu' }, resources: ['one'] })
    const first = await workspace.create(raw)
    await workspace.create(rawState({ serial: 9, outputs: { region: 'us' } }))

    const answer = await workspace.rollBack(first.id)

    expect(answer.status).toBe(201)
    const { data } = answer.json()
    expect(data.attributes).toMatchObject({ serial: 10, status: 'finalized', 'hosted-state-upload-url': null })
    expect(data.relationships['rollback-state-version'].data).toEqual({ id: first.id, type: 'state-versions' })
    expect((await workspace.current()).json().data.id).toBe(data.id)
    const content = await download(app, data.attributes['hosted-state-download-url'])
    expect(content.text).toBe(raw.toString().replace('"serial": 1,', '"serial": 10,'))
    const outputs = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()
    expect(outputs.data).toMatchObject([{ attributes: { name: 'region', value: 'eu' } }])
  })

  test('leaves the next serial free for the next apply', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))
    const copy = (await workspace.rollBack(first.id)).json().data

    expect(copy.attributes.serial).toBe(3)
    expect((await workspace.post(rawState({ serial: 3, outputs: { a: 'b' } }))).status).toBe(409)
    expect((await workspace.post(rawState({ serial: 4 }))).status).toBe(201)
  })

  test('discards a pending version', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    const pending = await workspace.create(rawState({ serial: 2 }), { state: undefined })

    const copy = (await workspace.rollBack(first.id)).json().data

    expect(copy.attributes.serial).toBe(3)
    expect((await workspace.show(pending.id)).attributes.status).toBe('discarded')
  })

  test('copies the JSON state, and a content of megabytes', async () => {
    const raw = rawState({ serial: 1, resources: ['big'], padding: 1_000_000 })
    const first = await workspace.create(raw, { 'json-state': Buffer.from('{"a":1}').toString('base64') })

    const { attributes } = (await workspace.rollBack(first.id)).json().data

    expect((await download(app, attributes['hosted-json-state-download-url'])).text).toBe('{"a":1}')
    const content = await download(app, attributes['hosted-state-download-url'])
    expect(content.text).toBe(raw.toString().replace('"serial": 1,', '"serial": 2,'))
  })

  test('to an unknown version, or one of another workspace, is not found', async () => {
    const other = await lockedWorkspace(app, organization, ada)
    const foreign = await other.create(rawState())

    expect((await workspace.rollBack('sv-nothing')).status).toBe(404)
    expect((await workspace.rollBack(foreign.id)).status).toBe(404)
  })

  test('to a pending or soft-deleted version is 422', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))
    await workspace.action(first.id, SOFT)
    const pending = await workspace.create(rawState({ serial: 3 }), { state: undefined })

    expect((await workspace.rollBack(first.id)).status).toBe(422)
    expect((await workspace.rollBack(pending.id)).status).toBe(422)
  })

  test('without the lock is a conflict', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.unlock()

    expect((await workspace.rollBack(first.id)).status).toBe(409)
  })

  test('with a malformed body is 422', async () => {
    const path = `/workspaces/${workspace.id}/state-versions`

    for (const data of [{}, { type: 'state-versions' }, { type: 'runs', relationships: {} }]) {
      expect((await workspace.request('PATCH', path, { data })).status).toBe(422)
    }
  })

  test('of a stranger is not found', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    expect((await stranger.rollBack(first.id)).status).toBe(404)
  })
})

describe('backing data', () => {
  let first: any
  let current: any

  beforeEach(async () => {
    first = await workspace.create(rawState({ serial: 1, outputs: { region: 'eu' } }))
    current = await workspace.create(rawState({ serial: 2 }))
  })

  const statusOf = async (id: string) => (await workspace.show(id)).attributes.status

  test('that is soft-deleted is not downloaded any more, while the metadata stay', async () => {
    const url = first.attributes['hosted-state-download-url']

    const answer = await workspace.action(first.id, SOFT)

    expect(answer.status).toBe(200)
    expect(answer.json().data.attributes).toMatchObject({
      status: 'backing_data_soft_deleted',
      'hosted-state-download-url': null,
    })
    expect(answer.json().data.attributes).not.toHaveProperty('delete-older-than-n-days')
    expect((await download(app, url)).status).toBe(404)
    expect(await statusOf(first.id)).toBe('backing_data_soft_deleted')
  })

  test('that is soft-deleted shows no outputs any more, until it is restored', async () => {
    const [output] = first.relationships.outputs.data
    const read = async () =>
      Promise.all([
        workspace.request('GET', `/state-versions/${first.id}/outputs`),
        workspace.request('GET', `/state-version-outputs/${output.id}`),
        workspace.request('GET', `/state-versions/${first.id}?include=outputs`),
      ])
    await workspace.action(first.id, SOFT)

    const [list, one, included] = await read()
    await workspace.action(first.id, RESTORE)
    const restored = await read()

    expect([list.status, one.status, included.status]).toEqual([404, 404, 200])
    expect(included.json().included).toEqual([])
    expect(restored.map((answer) => answer.status)).toEqual([200, 200, 200])
    expect(restored[2].json().included).toHaveLength(1)
  })

  test('echoes delete-older-than-n-days', async () => {
    const answer = await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': 23 })

    expect(answer.json().data.attributes['delete-older-than-n-days']).toBe(23)
  })

  test.each([-1, 1.5, 'x'])('refuses %j days', async (days) => {
    expect((await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': days })).status).toBe(422)
    expect(await statusOf(first.id)).toBe('finalized')
  })

  test('is restored', async () => {
    await workspace.action(first.id, SOFT)

    const answer = await workspace.action(first.id, RESTORE)

    expect(answer.status).toBe(200)
    expect(answer.json().data.attributes.status).toBe('finalized')
    expect((await download(app, answer.json().data.attributes['hosted-state-download-url'])).status).toBe(200)
  })

  test('is deleted for good, and never restored', async () => {
    await workspace.action(first.id, SOFT)

    const answer = await workspace.action(first.id, PERMANENT)

    expect(answer.status).toBe(200)
    expect(answer.json().data.attributes.status).toBe('backing_data_permanently_deleted')
    const restore = await workspace.action(first.id, RESTORE)
    expect(restore.status).toBe(400)
    expect(restore.json().errors[0].detail).toContain('transition not allowed')
    expect(
      await app.db.selectFrom('state_contents').selectAll().where('state_version_id', '=', first.id).execute(),
    ).toEqual([])
  })

  test.each([
    ['a finalized version', RESTORE, async () => {}],
    ['a finalized version', PERMANENT, async () => {}],
    ['a soft-deleted version', SOFT, async () => void (await workspace.action(first.id, SOFT))],
    [
      'a permanently deleted version',
      SOFT,
      async () => {
        await workspace.action(first.id, SOFT)
        await workspace.action(first.id, PERMANENT)
      },
    ],
  ])('of %s: %s is refused', async (_, action, prepare) => {
    await prepare()

    const answer = await workspace.action(first.id, action)

    expect(answer.status).toBe(400)
    expect(answer.json().errors[0].detail).toContain('transition not allowed')
  })

  test('of the current state is never deleted', async () => {
    const answer = await workspace.action(current.id, SOFT)

    expect(answer.status).toBe(400)
    expect(answer.json().errors[0].detail).toContain('transition not allowed')
  })

  test('of a pending version is not deleted', async () => {
    const pending = await workspace.create(rawState({ serial: 3 }), { state: undefined })

    expect((await workspace.action(pending.id, SOFT)).status).toBe(400)
  })

  test('is for owners of the organization alone', async () => {
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    for (const action of [SOFT, RESTORE, PERMANENT]) {
      expect((await stranger.action(first.id, action)).status).toBe(404)
    }
  })

  test('is not a part of the hosted edition', async () => {
    const hosted = await createTestApp({ GROUNDSTATE_EDITION: 'hosted' })
    const user = await createUser(hosted)
    const client = await lockedWorkspace(hosted, (await createOrganization(hosted, user)).name, user)
    const { id } = await client.create(rawState({ serial: 1 }))
    await client.create(rawState({ serial: 2 }))

    for (const action of [SOFT, RESTORE, PERMANENT]) expect((await client.action(id, action)).status).toBe(404)
  })

  test('goes for good with the garbage collection, once its time is over', async () => {
    const { applyRetention } = await import('../data-retention/apply.ts')
    const signal = new AbortController().signal
    await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': 2 })

    await applyRetention(app.as(), signal)
    expect(await statusOf(first.id)).toBe('backing_data_soft_deleted')
    app.clock.advance(2 * DAY_MS)
    await applyRetention(app.as(), signal)
    expect(await statusOf(first.id)).toBe('backing_data_permanently_deleted')
  })
})
