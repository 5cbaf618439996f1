import { describe, expect, test } from 'vitest'
import {
  createStateSetting,
  lockedWorkspace,
  rawState,
  type StateClient,
  upload,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()

async function attributesOf(client: StateClient) {
  return (await client.request('GET', `/workspaces/${client.id}`)).json().data.attributes
}

/** A workspace created some time ago. */
async function oldWorkspace() {
  const workspace = await lockedWorkspace(app, organization, ada)
  app.clock.advance(60_000)
  return workspace
}

describe('the latest change of a workspace', () => {
  test('is its creation if it has no state', async () => {
    const workspace = await oldWorkspace()

    const attributes = await attributesOf(workspace)

    expect(attributes['latest-change-at']).toBe(attributes['created-at'])
  })

  test('is the creation of its current state', async () => {
    const workspace = await oldWorkspace()

    const { attributes } = await workspace.create(rawState())

    expect((await attributesOf(workspace))['latest-change-at']).toBe(attributes['created-at'])
  })

  test('is that of an uploaded state after the upload', async () => {
    const workspace = await oldWorkspace()
    const { attributes } = await workspace.create(rawState(), { state: undefined })
    const before = await attributesOf(workspace)

    await upload(app, attributes['hosted-state-upload-url'], rawState())

    expect(before['latest-change-at']).toBe(before['created-at'])
    expect((await attributesOf(workspace))['latest-change-at']).toBe(attributes['created-at'])
  })

  test('is that of the last snapshot once it is current', async () => {
    const workspace = await oldWorkspace()
    const { attributes } = await workspace.create(rawState(), { intermediate: true })
    const before = await attributesOf(workspace)
    app.clock.advance(60_000)

    await workspace.unlock()

    expect(before['latest-change-at']).toBe(before['created-at'])
    expect((await attributesOf(workspace))['latest-change-at']).toBe(attributes['created-at'])
  })

  test('is that of the copy after a rollback', async () => {
    const workspace = await oldWorkspace()
    const { id } = await workspace.create(rawState())
    app.clock.advance(60_000)

    const copy = (await workspace.rollBack(id)).json().data

    expect((await attributesOf(workspace))['latest-change-at']).toBe(copy.attributes['created-at'])
  })

  test('orders the list of workspaces', async () => {
    const older = await oldWorkspace()
    const newer = await oldWorkspace()
    await older.create(rawState())

    const list = await newer.request(
      'GET',
      `/organizations/${organization}/workspaces?sort=-latest-change-at&page[size]=2`,
    )

    expect(list.json().data.map((workspace: { id: string }) => workspace.id)).toEqual([older.id, newer.id])
  })
})
