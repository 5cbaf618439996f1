import { beforeEach, describe, expect, test } from 'vitest'
import {
  createStateSetting,
  lockedWorkspace,
  rawState,
  type StateClient,
  upload,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const raw = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['one'] })

const PENDING = { state: undefined }

describe('a snapshot', () => {
  test('is not current until the unlock; then the last one becomes current', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    const second = await workspace.create(rawState({ serial: 2, resources: ['a'] }), { intermediate: true })
    const third = await workspace.create(rawState({ serial: 3, resources: ['a', 'b'] }), { intermediate: true })

    expect(second.attributes.intermediate).toBe(true)
    expect((await workspace.current()).json().data.id).toBe(first.id)
    expect((await workspace.unlock()).status).toBe(200)
    expect((await workspace.current()).json().data).toMatchObject({ id: third.id, attributes: { intermediate: false } })
    expect((await workspace.show(second.id)).attributes.intermediate).toBe(true)
    const { attributes } = (await workspace.request('GET', `/workspaces/${workspace.id}`)).json().data
    expect(attributes['resource-count']).toBe(2)
  })

  test('also becomes current on a forced unlock', async () => {
    const snapshot = await workspace.create(raw, { intermediate: true })

    await workspace.forceUnlock()

    expect((await workspace.current()).json().data.id).toBe(snapshot.id)
  })

  test('is not current either if it was uploaded', async () => {
    const pending = await workspace.create(raw, { ...PENDING, intermediate: true })

    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    expect((await workspace.current()).status).toBe(404)
    await workspace.unlock()
    expect((await workspace.current()).json().data.id).toBe(pending.id)
  })

  test('determines the minimum serial of the next version', async () => {
    await workspace.create(raw, { intermediate: true })

    expect((await workspace.post(rawState({ serial: 2 }))).status).toBe(412)
  })
})
