import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { lockedWorkspace, rawState, upload } from '../../../testing/state-versions.ts'
import { sweepOrphans, verifySample } from './jobs.ts'

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

describe('maintenance', () => {
  test('deletes orphaned blobs and keeps the others', async () => {
    // The age of a blob is measured by the real clock, which the other tests have moved away from.
    const app = await createTestApp()
    const user = await createUser(app)
    const workspace = await lockedWorkspace(app, (await createOrganization(app, user)).name, user)
    const raw = rawState({ resources: ['big'], padding: 400_000 })
    const { id } = await workspace.create(raw)
    const lost = `state-versions/${app.newId('sv')}/raw-lost`
    await app.blobs.put(lost, raw)
    const pending = await workspace.create(rawState({ serial: 2, resources: ['big'], padding: 400_000 }), {
      state: undefined,
    })
    await upload(app, pending.attributes['hosted-json-state-upload-url'], `{"a":"${'x'.repeat(400_000)}"}`)
    await workspace.create(rawState({ serial: 3 }))

    expect(await sweepOrphans(app.as(), signal)).toBe(0)
    app.clock.advance(3 * DAY_MS)
    expect(await sweepOrphans(app.as(), signal)).toBe(2)

    const { attributes } = await workspace.show(id)
    expect(
      (await app.request({ url: new URL(attributes['hosted-state-download-url']).pathname })).bytes.equals(raw),
    ).toBe(true)
    expect(await app.blobs.stat(lost)).toBeUndefined()
  })

  test('verifies a sample and reports damage', async () => {
    const workspace = await lockedWorkspace(app, await newOrganization(), ada)
    const { id } = await workspace.create(rawState())
    // The sample starts at a new id: this one includes the version, regardless of other tests.
    const ctx = { ...app.as(), newId: () => id }
    expect((await verifySample(ctx, signal)).damaged).toEqual([])

    await app.db
      .updateTable('state_contents')
      .set({ sealed: Buffer.from('garbage of more than thirty bytes in all') })
      .where('state_version_id', '=', id)
      .execute()
    app.clock.advance(1000)
    const { damaged } = await verifySample(ctx, signal)

    expect(damaged).toEqual([{ id, reason: expect.any(String) }])
    const download = (await workspace.show(id)).attributes['hosted-state-download-url']
    expect((await app.request({ url: new URL(download).pathname })).status).toBe(500)
  })
})
