import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { type StateClient, lockedWorkspace, rawState } from '../../../testing/state-versions.ts'
import { applyRetention } from './jobs.ts'

let app: TestApp
let ada: TestUser

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
})

const DAY_MS = 86_400_000

const signal = new AbortController().signal

async function newOrganization() {
  return (await createOrganization(app, ada)).name
}

async function history(workspace: StateClient, serials: readonly number[]) {
  const ids: string[] = []
  for (const serial of serials) ids.push((await workspace.create(rawState({ serial }))).id)
  return ids
}

async function statuses(workspace: StateClient, ids: readonly string[]) {
  const all = await Promise.all(ids.map((id) => workspace.request('GET', `/state-versions/${id}`)))
  return all.map((response) => (response.status === 200 ? response.json().data.attributes.status : response.status))
}

const policy = (type: string, days?: number) => ({
  data: { type, ...(days !== undefined && { attributes: { 'delete-older-than-n-days': days } }) },
})

describe('a data retention policy', () => {
  test('of an organization and of a workspace is set, shown, changed and removed', async () => {
    const organization = await newOrganization()
    const workspace = await lockedWorkspace(app, organization, ada)

    for (const [path, target] of [
      [
        `/organizations/${organization}/relationships/data-retention-policy`,
        { id: organization, type: 'organizations' },
      ],
      [`/workspaces/${workspace.id}/relationships/data-retention-policy`, { id: workspace.id, type: 'workspaces' }],
    ] as const) {
      expect((await workspace.request('GET', path)).status).toBe(404)
      const created = await workspace.request('POST', path, policy('data-retention-policy-delete-olders', 60))
      expect(created.status).toBe(201)
      expect(created.json().data).toEqual({
        id: expect.stringMatching(/^drp-/),
        type: 'data-retention-policy-delete-olders',
        attributes: { 'delete-older-than-n-days': 60 },
        relationships: { target: { data: target } },
      })
      const changed = await workspace.request('POST', path, policy('data-retention-policy-dont-deletes'))
      expect(changed.status).toBe(200)
      expect(changed.json().data).toMatchObject({
        id: created.json().data.id,
        type: 'data-retention-policy-dont-deletes',
      })
      const patched = await workspace.request('PATCH', path, policy('data-retention-policies', 5))
      expect(patched.json().data).toMatchObject({ attributes: { 'delete-older-than-n-days': 5 } })
      expect((await workspace.request('GET', path)).json()).toEqual(patched.json())
      expect((await workspace.request('DELETE', path)).status).toBe(204)
      expect((await workspace.request('GET', path)).status).toBe(404)
    }
  })

  test('is referenced by its owner, with the type that clients expect', async () => {
    const organization = await newOrganization()
    const workspace = await lockedWorkspace(app, organization, ada)

    for (const resource of [`/organizations/${organization}`, `/workspaces/${workspace.id}`]) {
      const named = async () =>
        (await workspace.request('GET', resource)).json().data.relationships['data-retention-policy'].data
      const path = `${resource}/relationships/data-retention-policy`
      expect(await named()).toBeNull()
      const { id } = (await workspace.request('POST', path, policy('data-retention-policy-delete-olders', 60))).json()
        .data
      expect(await named()).toEqual({ id, type: 'data-retention-policy-delete-olders' })
      await workspace.request('POST', path, policy('data-retention-policy-dont-deletes'))
      expect(await named()).toEqual({ id, type: 'data-retention-policy-dont-deletes' })
    }
  })

  test('needs a whole number of days above zero', async () => {
    const path = `/organizations/${await newOrganization()}/relationships/data-retention-policy`

    for (const days of [0, -1, 1.5, undefined]) {
      const body = policy('data-retention-policy-delete-olders', days)
      expect((await app.request({ method: 'POST', url: `/api/v2${path}`, token: ada.token, body })).status).toBe(422)
    }
  })

  test('is not found by strangers', async () => {
    const organization = await newOrganization()
    const stranger = await createUser(app)
    const url = `/api/v2/organizations/${organization}/relationships/data-retention-policy`

    expect((await app.request({ url, token: stranger.token })).status).toBe(404)
  })

  test('of the organization soft-deletes older states, but never the current one', async () => {
    const organization = await newOrganization()
    const workspace = await lockedWorkspace(app, organization, ada)
    const ids = await history(workspace, [1, 2, 3])
    await workspace.request(
      'POST',
      `/organizations/${organization}/relationships/data-retention-policy`,
      policy('data-retention-policy-delete-olders', 10),
    )

    await applyRetention(app.as(), signal)
    expect(await statuses(workspace, ids)).toEqual(['finalized', 'finalized', 'finalized'])
    app.clock.advance(10 * DAY_MS + 1000)
    await applyRetention(app.as(), signal)
    expect(await statuses(workspace, ids)).toEqual([
      'backing_data_soft_deleted',
      'backing_data_soft_deleted',
      'finalized',
    ])
    app.clock.advance(7 * DAY_MS + 1000)
    await applyRetention(app.as(), signal)
    expect(await statuses(workspace, ids)).toEqual([
      'backing_data_permanently_deleted',
      'backing_data_permanently_deleted',
      'finalized',
    ])
  })

  test("of a workspace takes precedence over its organization's", async () => {
    const organization = await newOrganization()
    const keeping = await lockedWorkspace(app, organization, ada)
    const inheriting = await lockedWorkspace(app, organization, ada)
    const kept = await history(keeping, [1, 2])
    const deleted = await history(inheriting, [1, 2])
    const path = 'relationships/data-retention-policy'
    await keeping.request(
      'POST',
      `/organizations/${organization}/${path}`,
      policy('data-retention-policy-delete-olders', 1),
    )
    await keeping.request('POST', `/workspaces/${keeping.id}/${path}`, policy('data-retention-policy-dont-deletes'))

    app.clock.advance(2 * DAY_MS)
    await applyRetention(app.as(), signal)

    expect(await statuses(keeping, kept)).toEqual(['finalized', 'finalized'])
    expect(await statuses(inheriting, deleted)).toEqual(['backing_data_soft_deleted', 'finalized'])
  })
})

describe('the free plan', () => {
  test('keeps the last 100 states, the newest of every workspace, and all others for six months', async () => {
    const organization = await newOrganization()
    await app.db.updateTable('organizations').set({ plan: 'free' }).where('name', '=', organization).execute()
    const quiet = await lockedWorkspace(app, organization, ada)
    const [older = '', newest = ''] = await history(quiet, [1, 2])
    const busy = await lockedWorkspace(app, organization, ada)
    const serials = Array.from({ length: 100 }, (_, index) => index + 1)
    const [first = '', ...rest] = await history(busy, serials)

    app.clock.advance(150 * DAY_MS)
    await applyRetention(app.as(), signal)
    expect(await statuses(quiet, [older, newest])).toEqual(['finalized', 'finalized'])

    app.clock.advance(50 * DAY_MS)
    await applyRetention(app.as(), signal)
    // The 100 states of the busy workspace are the last ones; of the quiet one, the newest stays.
    expect(await statuses(quiet, [older, newest])).toEqual([404, 'finalized'])
    expect(await statuses(busy, [first])).toEqual(['finalized'])

    const extra = await busy.create(rawState({ serial: 101 }))
    await applyRetention(app.as(), signal)
    expect(await statuses(busy, [first, rest[0] ?? '', extra.id])).toEqual([404, 'finalized', 'finalized'])
    const list = await busy.request(
      'GET',
      `/state-versions?filter[organization][name]=${organization}&filter[workspace][name]=${busy.name}`,
    )
    expect(list.json().meta.pagination['total-count']).toBe(100)
  })

  test('deletes in batches, with the content, and keeps everything after an upgrade', async () => {
    const organization = await newOrganization()
    const setPlan = async (plan: 'free' | 'standard') =>
      app.db.updateTable('organizations').set({ plan }).where('name', '=', organization).execute()
    const workspace = await lockedWorkspace(app, organization, ada)
    const [first = '', ...rest] = await history(
      workspace,
      Array.from({ length: 305 }, (_, index) => index + 1),
    )
    app.clock.advance(200 * DAY_MS)

    await setPlan('standard')
    await applyRetention(app.as(), signal)
    expect(await statuses(workspace, [first])).toEqual(['finalized'])
    await setPlan('free')
    await applyRetention(app.as(), signal)

    expect(await statuses(workspace, [first, rest[203] ?? '', rest[204] ?? ''])).toEqual([404, 404, 'finalized'])
    const { count } = await app.db
      .selectFrom('state_versions')
      .where('workspace_id', '=', workspace.id)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(count).toBe(100)
  })

  test.each(['standard', 'unlimited'] as const)('deletes nothing on the plan %s', async (plan) => {
    const organization = await newOrganization()
    await app.db.updateTable('organizations').set({ plan }).where('name', '=', organization).execute()
    const workspace = await lockedWorkspace(app, organization, ada)
    const serials = Array.from({ length: 102 }, (_, index) => index + 1)
    const [first = ''] = await history(workspace, serials)

    app.clock.advance(400 * DAY_MS)
    await applyRetention(app.as(), signal)

    expect(await statuses(workspace, [first])).toEqual(['finalized'])
  })
})
