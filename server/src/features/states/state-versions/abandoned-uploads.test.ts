import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { lockedWorkspace, rawState, type StateClient, stateClient, upload } from '../../../testing/state-versions.ts'

/* A client vanishes after it has created a version, and never uploads the content. */

let app: TestApp
let agent: FakeAgent
let owner: TestUser
let other: TestUser
let organization: string

beforeAll(async () => {
  app = await createTestApp()
  agent = await createFakeAgent(app)
  owner = await createUser(app)
  other = await createUser(app)
  const { id, name } = await createOrganization(app, owner)
  organization = name
  const team = await app.db.selectFrom('teams').select('id').where('organization_id', '=', id).executeTakeFirstOrThrow()
  const member = { team_id: team.id, user_id: other.id, created_at: app.now() }
  await app.db.insertInto('team_members').values(member).execute()
})

const PENDING = { state: undefined }
const raw = rawState({ serial: 3, resources: ['one'] })

/** A workspace locked by the owner, whose newest version is pending. */
async function abandoned() {
  const workspace = await lockedWorkspace(app, organization, owner)
  const current = await workspace.create(rawState({ serial: 1 }))
  return { workspace, current, pending: await workspace.create(raw, PENDING) }
}

/** Leaves a version pending without its lock, as servers before this version did after a forced unlock. */
async function leaveUnlocked({ id }: StateClient) {
  const unlocked = { locked_by_type: null, locked_by_id: null, locked_reason: null, locked_at: null }
  await app.db.updateTable('workspaces').set(unlocked).where('id', '=', id).execute()
}

describe('a forced unlock', () => {
  test('discards the pending version, so that the next lock holder can unlock', async () => {
    const { workspace, current, pending } = await abandoned()

    expect((await workspace.forceUnlock()).status).toBe(200)

    expect((await workspace.show(pending.id)).attributes).toMatchObject({
      status: 'discarded',
      'hosted-state-upload-url': null,
      'hosted-json-state-upload-url': null,
    })
    expect((await workspace.current()).json().data.id).toBe(current.id)
    expect([(await workspace.lock()).status, (await workspace.unlock()).status]).toEqual([200, 200])
  })

  test.each(['hosted-state-upload-url', 'hosted-json-state-upload-url'])('makes the %s unusable', async (name) => {
    const { workspace, pending } = await abandoned()
    await workspace.forceUnlock()

    const late = await upload(app, pending.attributes[name], name.includes('json') ? '{}' : raw)

    expect(late.status).toBe(409)
    expect(late.json().errors[0].detail).toBe(
      `${pending.id} was discarded before its content was uploaded: create a new state version`,
    )
  })

  test('lets the previous holder lock again and store the same state', async () => {
    const { workspace, pending } = await abandoned()
    await workspace.forceUnlock()

    const without = await workspace.post(raw, PENDING)
    await workspace.lock()
    const again = await workspace.create(raw, PENDING)

    expect(without.status).toBe(409)
    expect(again.id).not.toBe(pending.id)
    expect((await upload(app, again.attributes['hosted-state-upload-url'], raw)).status).toBe(200)
    expect((await workspace.unlock()).status).toBe(200)
    expect((await workspace.current()).json().data.id).toBe(again.id)
  })

  test('concurrent with the upload either finds the state finalized or rejects it', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { workspace, current, pending } = await abandoned()

      const [unlocked, uploaded] = await Promise.all([
        workspace.forceUnlock(),
        upload(app, pending.attributes['hosted-state-upload-url'], raw),
      ])

      const isStored = uploaded.status === 200
      expect(unlocked.status).toBe(200)
      expect([200, 409]).toContain(uploaded.status)
      expect((await workspace.show(pending.id)).attributes.status).toBe(isStored ? 'finalized' : 'discarded')
      expect((await workspace.current()).json().data.id).toBe(isStored ? pending.id : current.id)
      expect([(await workspace.lock()).status, (await workspace.unlock()).status]).toEqual([200, 200])
    }
  })
})

describe('a pending version without its lock', () => {
  test('is discarded when another user acquires the lock', async () => {
    const { workspace, pending } = await abandoned()
    await leaveUnlocked(workspace)
    const next = stateClient(app, workspace, other.token)

    expect((await next.lock()).status).toBe(200)

    expect((await workspace.show(pending.id)).attributes.status).toBe('discarded')
    expect((await next.unlock()).status).toBe(200)
  })

  test('accepts no upload', async () => {
    const { workspace, current, pending } = await abandoned()
    await leaveUnlocked(workspace)

    expect((await upload(app, pending.attributes['hosted-state-upload-url'], raw)).status).toBe(409)
    expect((await workspace.current()).json().data.id).toBe(current.id)
  })

  test('is discarded when a run acquires the lock', async () => {
    const setting = await createRunSetting(app)
    const client = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
    await client.lock()
    const pending = await client.create(raw, PENDING)
    await leaveUnlocked(client)

    await createRun(app, setting)

    expect((await client.show(pending.id)).attributes.status).toBe('discarded')
    await (await agent.take()).finish({ hasChanges: false })
  })
})

describe('the end of a run', () => {
  test.each(['finished', 'errored', 'canceled'] as const)(
    'that has %s discards pending versions of its engine, and keeps stored ones',
    async (status) => {
      const setting = await createRunSetting(app)
      await createRun(app, setting, { 'auto-apply': true })
      await (await agent.take()).finish()
      const apply = await agent.take()
      const workspace = { id: setting.workspaceId, name: setting.workspaceName }
      const engine = stateClient(app, workspace, apply.engineToken)
      const user = stateClient(app, workspace, setting.user.token)
      const stored = await engine.create(rawState({ serial: 1 }))
      const pending = await engine.create(rawState({ serial: 2 }), PENDING)

      await apply.finish({ status, exitCode: status === 'finished' ? 0 : 1 })
      // The run briefly waits for its log to be opened.
      app.clock.advance(60_000)
      await app.runJobs()

      expect((await user.show(pending.id)).attributes.status).toBe('discarded')
      expect((await user.current()).json().data.id).toBe(stored.id)
      const late = await upload(app, pending.attributes['hosted-state-upload-url'], rawState({ serial: 2 }))
      expect(late.status).toBe(409)
      expect([(await user.lock()).status, (await user.unlock()).status]).toEqual([200, 200])
    },
  )

  test('does not affect the current lock holder', async () => {
    const setting = await createRunSetting(app)
    await createRun(app, setting)
    const plan = await agent.take()
    const user = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
    await leaveUnlocked(user)
    await user.lock()
    const pending = await user.create(raw, PENDING)

    await plan.finish({ hasChanges: false })

    expect((await user.show(pending.id)).attributes.status).toBe('pending')
    expect((await upload(app, pending.attributes['hosted-state-upload-url'], raw)).status).toBe(200)
  })
})
