import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../testing/factories.ts'
import { lockedWorkspace, rawState, type StateClient, stateClient } from '../../testing/state-versions.ts'

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
