import { beforeEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import {
  createStateSetting,
  download,
  lockedWorkspace,
  rawState,
  type StateClient,
  stateClient,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const DAY_MS = 86_400_000

const SOFT = 'soft_delete_backing_data'

const RESTORE = 'restore_backing_data'

const PERMANENT = 'permanently_delete_backing_data'

describe('backing data', () => {
  let first: any
  let current: any

  beforeEach(async () => {
    first = await workspace.create(rawState({ serial: 1, outputs: { region: 'eu' } }))
    current = await workspace.create(rawState({ serial: 2 }))
  })

  const statusOf = async (id: string) => (await workspace.show(id)).attributes.status

  test('cannot be downloaded after a soft delete, but its metadata stays', async () => {
    const url = first.attributes['hosted-state-download-url']

    const response = await workspace.action(first.id, SOFT)

    expect(response.status).toBe(200)
    expect(response.json().data.attributes).toMatchObject({
      status: 'backing_data_soft_deleted',
      'hosted-state-download-url': null,
    })
    expect(response.json().data.attributes).not.toHaveProperty('delete-older-than-n-days')
    expect((await download(app, url)).status).toBe(404)
    expect(await statusOf(first.id)).toBe('backing_data_soft_deleted')
  })

  test('has no readable outputs between soft delete and restore', async () => {
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
    expect(restored.map((response) => response.status)).toEqual([200, 200, 200])
    expect(restored[2].json().included).toHaveLength(1)
  })

  test('shows until when it can be restored only after a soft delete', async () => {
    const response = await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': 2 })
    const restored = await workspace.action(first.id, RESTORE)

    const until = new Date(response.json().data.attributes['restorable-until']).getTime()
    expect((until - app.clock.now().getTime()) / DAY_MS).toBeCloseTo(2)
    expect(restored.json().data.attributes['restorable-until']).toBeNull()
  })

  test('has permissions for owners, except in the hosted edition', async () => {
    const hosted = await createTestApp({ GROUNDSTATE_EDITION: 'hosted' })
    const user = await createUser(hosted)
    const client = await lockedWorkspace(hosted, (await createOrganization(hosted, user)).name, user)
    const own = await client.create(rawState({ serial: 1 }))

    expect(first.attributes.permissions).toEqual({ 'can-delete-backing-data': true })
    expect(own.attributes.permissions).toEqual({ 'can-delete-backing-data': false })
  })

  test('echoes delete-older-than-n-days', async () => {
    const response = await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': 23 })

    expect(response.json().data.attributes['delete-older-than-n-days']).toBe(23)
  })

  test.each([-1, 1.5, 'x'])('rejects %j days', async (days) => {
    expect((await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': days })).status).toBe(422)
    expect(await statusOf(first.id)).toBe('finalized')
  })

  test('is restored', async () => {
    await workspace.action(first.id, SOFT)

    const response = await workspace.action(first.id, RESTORE)

    expect(response.status).toBe(200)
    expect(response.json().data.attributes.status).toBe('finalized')
    expect((await download(app, response.json().data.attributes['hosted-state-download-url'])).status).toBe(200)
  })

  test('cannot be restored after permanent deletion', async () => {
    await workspace.action(first.id, SOFT)

    const response = await workspace.action(first.id, PERMANENT)

    expect(response.status).toBe(200)
    expect(response.json().data.attributes.status).toBe('backing_data_permanently_deleted')
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
  ])('of %s: %s is rejected', async (_, action, prepare) => {
    await prepare()

    const response = await workspace.action(first.id, action)

    expect(response.status).toBe(400)
    expect(response.json().errors[0].detail).toContain('transition not allowed')
  })

  test('of the current state cannot be deleted', async () => {
    const response = await workspace.action(current.id, SOFT)

    expect(response.status).toBe(400)
    expect(response.json().errors[0].detail).toContain('transition not allowed')
  })

  test('of a pending version cannot be deleted', async () => {
    const pending = await workspace.create(rawState({ serial: 3 }), { state: undefined })

    expect((await workspace.action(pending.id, SOFT)).status).toBe(400)
  })

  test('can be deleted only by owners of the organization', async () => {
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    for (const action of [SOFT, RESTORE, PERMANENT]) {
      expect((await stranger.action(first.id, action)).status).toBe(404)
    }
  })

  test('is unavailable in the hosted edition', async () => {
    const hosted = await createTestApp({ GROUNDSTATE_EDITION: 'hosted' })
    const user = await createUser(hosted)
    const client = await lockedWorkspace(hosted, (await createOrganization(hosted, user)).name, user)
    const { id } = await client.create(rawState({ serial: 1 }))
    await client.create(rawState({ serial: 2 }))

    for (const action of [SOFT, RESTORE, PERMANENT]) expect((await client.action(id, action)).status).toBe(404)
  })

  test('is purged after its grace period', async () => {
    const { applyRetention } = await import('../data-retention/jobs.ts')
    const signal = new AbortController().signal
    await workspace.action(first.id, SOFT, { 'delete-older-than-n-days': 2 })

    await applyRetention(app.as(), signal)
    expect(await statusOf(first.id)).toBe('backing_data_soft_deleted')
    app.clock.advance(2 * DAY_MS)
    await applyRetention(app.as(), signal)
    expect(await statusOf(first.id)).toBe('backing_data_permanently_deleted')
  })
})

describe('a soft deletion with a malformed body', () => {
  test('is not found by callers who may not delete', async () => {
    const { id } = await workspace.create(rawState({ serial: 1 }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    const response = await stranger.action(id, SOFT, { 'delete-older-than-n-days': -1 })

    expect(response.status).toBe(404)
  })

  test('is not found in the hosted edition', async () => {
    const hosted = await createTestApp({ GROUNDSTATE_EDITION: 'hosted' })
    const user = await createUser(hosted)
    const client = await lockedWorkspace(hosted, (await createOrganization(hosted, user)).name, user)
    const { id } = await client.create(rawState({ serial: 1 }))

    expect((await client.action(id, SOFT, { 'delete-older-than-n-days': -1 })).status).toBe(404)
  })
})

test('the last snapshot is not deleted, since it will be the current state', async () => {
  await workspace.create(rawState({ serial: 1 }))
  const { id } = await workspace.create(rawState({ serial: 2 }), { intermediate: true })

  const response = await workspace.action(id, SOFT)

  expect(response.status).toBe(400)
  expect(response.json().errors[0].detail).toContain('it becomes the current state version')
})

describe('days until a deletion', () => {
  const DAYS = 'delete-older-than-n-days'

  test.each([
    ['next to data', { [DAYS]: 'x' }, '/data', `data is missing: ${DAYS} belongs in data.attributes`],
    [
      'next to an empty data',
      { data: null, [DAYS]: 3 },
      '/data',
      `data is missing: ${DAYS} belongs in data.attributes`,
    ],
    ['next to the document', { data: { attributes: {} }, [DAYS]: 3 }, `/${DAYS}`, `${DAYS} belongs in data.attributes`],
    ['next to the attributes', { data: { [DAYS]: 3 } }, `/data/${DAYS}`, `${DAYS} belongs in data.attributes`],
  ])('%s are rejected, and nothing is deleted', async (_, body, pointer, detail) => {
    const { id } = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))

    const response = await workspace.request('POST', `/state-versions/${id}/actions/${SOFT}`, body)

    expect(response.status).toBe(422)
    expect(response.json().errors).toMatchObject([{ detail, source: { pointer } }])
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
