import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'

const app = await createTestApp()
const owner = await createUser(app, { username: 'olivia' })
const acme = await createOrganization(app, owner)

async function newWorkspace() {
  return createWorkspace(app, { organization: acme.name, actor: owner.actor })
}

async function member(access: 'write' | 'admin', workspaceId: string) {
  const user = await createUser(app)
  await createTeamWithAccess(app, { members: [user], organizationId: acme.id, workspaces: { [workspaceId]: access } })
  return user
}

async function act(workspaceId: string, action: string, user: TestUser, body?: unknown) {
  const url = `/api/v2/workspaces/${workspaceId}/actions/${action}`
  return app.request({ method: 'POST', url, token: user.token, body })
}

test.each([
  ['plain JSON', { reason: 'because' }],
  ['a document with an empty type', { data: { type: '', attributes: { reason: 'because' } } }],
])('a lock accepts %s and has its holder', async (_, body) => {
  const workspace = await newWorkspace()

  const res = await act(workspace.id, 'lock', owner, body)

  expect(res.status).toBe(200)
  expect(res.json().data.attributes).toMatchObject({ locked: true, 'locked-reason': 'because' })
  expect(res.json().data.relationships['locked-by'].data).toEqual({ id: owner.id, type: 'users' })
})

test('a lock without a body has no reason', async () => {
  const workspace = await newWorkspace()

  const res = await act(workspace.id, 'lock', owner)

  expect(res.json().data.attributes).toMatchObject({ locked: true, 'locked-reason': null })
})

test('a locked workspace cannot be locked again', async () => {
  const workspace = await newWorkspace()
  const writer = await member('write', workspace.id)
  await act(workspace.id, 'lock', owner, { reason: 'maintenance' })

  const [same, other] = [await act(workspace.id, 'lock', owner), await act(workspace.id, 'lock', writer)]

  expect([same.status, other.status]).toEqual([409, 409])
  expect(other.json().errors[0].detail).toMatch(/is locked by User olivia since 20.*: maintenance$/)
})

test('one of two concurrent locks succeeds', async () => {
  const workspace = await newWorkspace()
  const writer = await member('write', workspace.id)

  const responses = await Promise.all([act(workspace.id, 'lock', owner), act(workspace.id, 'lock', writer)])

  expect(responses.map((response) => response.status)).toEqual(expect.arrayContaining([200, 409]))
})

test('only the holder can unlock, and only once', async () => {
  const workspace = await newWorkspace()
  const writer = await member('write', workspace.id)
  await act(workspace.id, 'lock', owner)

  const foreign = await act(workspace.id, 'unlock', writer)
  const own = await act(workspace.id, 'unlock', owner)
  const again = await act(workspace.id, 'unlock', owner)

  expect(foreign.status).toBe(409)
  expect(foreign.json().errors[0].detail).toContain('is locked by User olivia')
  expect(own.status).toBe(200)
  expect(own.json().data.attributes.locked).toBe(false)
  expect(own.json().data.relationships['locked-by'].data).toBeNull()
  expect(again.status).toBe(409)
  expect(again.json().errors[0].detail).not.toContain('locked by')
})

test('an admin can force-unlock, a writer cannot', async () => {
  const workspace = await newWorkspace()
  const [writer, admin] = [await member('write', workspace.id), await member('admin', workspace.id)]
  await act(workspace.id, 'lock', owner)

  const refused = await act(workspace.id, 'force-unlock', writer)
  const forced = await act(workspace.id, 'force-unlock', admin)
  const again = await act(workspace.id, 'force-unlock', admin)

  expect([refused.status, forced.status, again.status]).toEqual([403, 200, 409])
})

test("a team's token locks as its team", async () => {
  const workspace = await newWorkspace()
  const teamId = await createTeamWithAccess(app, {
    members: [],
    organizationId: acme.id,
    workspaces: { [workspace.id]: 'write' },
  })
  const url = `/api/v2/teams/${teamId}/authentication-token`
  const created = await app.request({ method: 'POST', url, token: owner.token })
  const token = { token: created.json().data.attributes.token } as TestUser

  const locked = await act(workspace.id, 'lock', token)
  const refused = await act(workspace.id, 'unlock', owner)
  const shown = await app.request({ url: `/api/v2/workspaces/${workspace.id}?include=locked_by`, token: owner.token })
  const unlocked = await act(workspace.id, 'unlock', token)

  expect(locked.json().data.relationships['locked-by'].data).toEqual({ id: teamId, type: 'teams' })
  expect(refused.json().errors[0].detail).toContain('is locked by Team team-')
  expect(shown.json().included).toMatchObject([{ id: teamId, type: 'teams' }])
  expect(Date.parse(shown.json().data.attributes['locked-at'])).toBeLessThanOrEqual(app.clock.now().getTime())
  expect(unlocked.status).toBe(200)
})

test('a safe delete rejects a locked workspace and deletes an empty one', async () => {
  const workspace = await newWorkspace()
  const url = `/api/v2/organizations/${acme.name}/workspaces/${workspace.name}/actions/safe-delete`
  await act(workspace.id, 'lock', owner)

  const refused = await app.request({ method: 'POST', url, token: owner.token })
  await act(workspace.id, 'unlock', owner)
  const done = await app.request({ method: 'POST', url, token: owner.token })

  expect(refused.status).toBe(409)
  expect(refused.json().errors[0].detail).toContain('locked')
  expect(done.status).toBe(204)
  const afterDeletion = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: owner.token })
  expect(afterDeletion.status).toBe(404)
})

test('a workspace with resources can only be force-deleted, with permission', async () => {
  const workspace = await newWorkspace()
  const admin = await member('admin', workspace.id)
  await app.db.updateTable('workspaces').set({ resource_count: 3 }).where('id', '=', workspace.id).execute()
  const url = `/api/v2/workspaces/${workspace.id}`

  const safe = await app.request({ method: 'POST', url: `${url}/actions/safe-delete`, token: owner.token })
  const refused = await app.request({ method: 'DELETE', url, token: admin.token })
  const forced = await app.request({ method: 'DELETE', url, token: owner.token })

  expect(safe.status).toBe(409)
  expect(safe.json().errors[0].detail).toContain('still managing resources')
  expect([refused.status, forced.status]).toEqual([403, 204])
})

describe('a state whose resources are not counted, or cannot be', () => {
  const large = rawState({ resources: ['one', 'two'], padding: 50_000 })
  const encrypted = Buffer.from(
    JSON.stringify({ serial: 1, lineage: 'l', meta: {}, encrypted_data: 'AAAA', encryption_version: 'v0' }),
  )

  test.each([
    ['large', large, 'manages 2 resources', 'still managing resources (2)'],
    ['encrypted', encrypted, 'an unknown number of resources', 'still managing resources'],
  ])('still protects its workspace: %s', async (_, raw, forbidden, unsafe) => {
    const workspace = await newWorkspace()
    const admin = await member('admin', workspace.id)
    const client = stateClient(app, workspace, owner.token)
    await client.lock()
    await client.create(raw)
    await client.unlock()
    const url = `/api/v2/workspaces/${workspace.id}`

    const refused = await app.request({ method: 'DELETE', url, token: admin.token })
    const safe = await app.request({ method: 'POST', url: `${url}/actions/safe-delete`, token: owner.token })
    const forced = await app.request({ method: 'DELETE', url, token: owner.token })

    expect([refused.status, safe.status, forced.status]).toEqual([403, 409, 204])
    expect(refused.json().errors[0].detail).toContain(forbidden)
    expect(safe.json().errors[0].detail).toContain(unsafe)
  })
})
