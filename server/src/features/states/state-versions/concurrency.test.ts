import { describe, expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createWorkspace } from '../../../testing/factories.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import {
  type StateClient,
  createStateSetting,
  download,
  lockedWorkspace,
  rawState,
  stateClient,
  upload,
  uploadInChunks,
} from '../../../testing/state-versions.ts'
import { extractVersion } from './extraction.ts'

const CLIENTS = 16
const TURNS = 25

const { app, ada, organization } = await createStateSetting()

async function listAll(client: StateClient) {
  const versions: any[] = []
  for (let page = 1; ; page += 1) {
    const query = `filter[organization][name]=${organization}&filter[workspace][name]=${client.name}&page[size]=100`
    const { data } = (await client.request('GET', `/state-versions?${query}&page[number]=${page}`)).json()
    versions.push(...data)
    if (data.length < 100) return versions.toReversed()
  }
}

/** A deterministic random number generator (mulberry32). */
function seeded(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

describe('sixteen concurrent clients', () => {
  test('that post the same serial: one succeeds, the others get an error', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const states = Array.from({ length: CLIENTS }, (_, index) =>
      rawState({ serial: 1, outputs: { index: `${index}` } }),
    )

    const responses = await Promise.all(states.map((raw) => workspace.post(raw)))

    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array(CLIENTS - 1).fill(409),
    ])
    const winner = responses.findIndex((response) => response.status === 201)
    const current = (await workspace.current()).json().data.attributes['hosted-state-download-url']
    expect((await download(app, current)).bytes.equals(states[winner] ?? Buffer.alloc(0))).toBe(true)
    expect(await listAll(workspace)).toHaveLength(1)
  })

  test('that post the same state: all get the same version', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = rawState({ serial: 1 })

    const responses = await Promise.all(Array.from({ length: CLIENTS }, () => workspace.post(raw)))

    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([201]))
    expect(new Set(responses.map((response) => response.json().data.id)).size).toBe(1)
  })

  test('that upload to the same URL: one finalizes', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = rawState({ serial: 1 })
    const pending = await workspace.create(raw, { state: undefined })
    const url = pending.attributes['hosted-state-upload-url']

    const responses = await Promise.all(Array.from({ length: CLIENTS }, () => upload(app, url, raw)))

    expect(responses.filter((response) => response.status === 200)).toHaveLength(1)
    expect(responses.filter((response) => response.status === 409)).toHaveLength(CLIENTS - 1)
  })

  test('that act at random leave one consistent history', async () => {
    const client = stateClient(app, await createWorkspace(app, { organization }), ada.token)
    const acknowledged = new Map<string, Buffer>()
    const statuses = new Set<number>()
    let serial = 0

    async function turn(random: (below: number) => number) {
      const raw = rawState({ serial: serial + random(4), outputs: { content: `${random(1000)}` } })
      switch (random(8)) {
        case 0:
          return [await client.lock()]
        case 1:
          if (random(2) === 0) return [await client.lock()]
          return [random(4) === 0 ? await client.forceUnlock() : await client.unlock()]
        case 2:
        case 3:
        case 4: {
          const response = await client.post(raw)
          if (response.status === 201) {
            acknowledged.set(response.json().data.id, raw)
            serial = Math.max(serial, response.json().data.attributes.serial)
          }
          return [response]
        }
        case 5: {
          const response = await client.post(raw, { state: undefined })
          if (response.status !== 201) return [response]
          const { id, attributes } = response.json().data
          const put = await upload(app, attributes['hosted-state-upload-url'], raw)
          if (put.status === 200) acknowledged.set(id, raw)
          return [response, put]
        }
        case 6: {
          const [id = 'sv-nothing'] = [...acknowledged.keys()].slice(random(Math.max(1, acknowledged.size)))
          const response = await client.rollBack(id)
          if (response.status === 201) {
            const { data } = response.json()
            serial = Math.max(serial, data.attributes.serial)
            const copied = acknowledged.get(id)?.toString() ?? ''
            acknowledged.set(
              data.id,
              Buffer.from(copied.replace(/"serial": \d+,/, `"serial": ${data.attributes.serial},`)),
            )
          }
          return [response]
        }
        default: {
          const [id = 'sv-nothing'] = [...acknowledged.keys()].slice(random(Math.max(1, acknowledged.size)))
          const deleted = await client.action(id, 'soft_delete_backing_data')
          return [deleted, await client.action(id, 'restore_backing_data')]
        }
      }
    }
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, index) => {
        const random = seeded(index)
        for (let count = 0; count < TURNS; count += 1)
          for (const response of await turn(random)) statuses.add(response.status)
      }),
    )

    expect([...statuses].filter((status) => ![200, 201, 400, 404, 409, 412, 422].includes(status))).toEqual([])
    const versions = await listAll(client)
    const serials = versions.filter((one) => one.attributes.status === 'finalized').map((one) => one.attributes.serial)
    expect(serials).toEqual(serials.toSorted((a, b) => a - b))
    expect(serials.length).toBeGreaterThan(10)
    expect(versions.filter((one) => one.attributes.status === 'pending').length).toBeLessThanOrEqual(1)
    for (const [id, raw] of acknowledged) {
      const version = versions.find((one) => one.id === id)
      expect(version?.attributes.status).toMatch(/^(finalized|backing_data_soft_deleted)$/)
      if (version.attributes.status !== 'finalized') await client.action(id, 'restore_backing_data')
      const { attributes } = await client.show(id)
      expect((await download(app, attributes['hosted-state-download-url'])).bytes.equals(raw)).toBe(true)
    }
    const current = (await client.current()).json().data
    expect(current.id).toBe(
      versions.findLast((one) => one.attributes.status !== 'pending' && one.attributes.status !== 'discarded').id,
    )
  }, 120_000)
})

test('a snapshot that becomes current during its extraction updates the resource count', async () => {
  const workspace = await lockedWorkspace(app, organization, ada)
  const raw = rawState({ resources: ['one', 'two', 'three'], padding: 200_000 })
  const { id, attributes } = await workspace.create(raw, { intermediate: true, state: undefined })
  await uploadInChunks(app, attributes['hosted-state-upload-url'], raw)

  const unlocked = await transact(app.as(), async (ctx) => {
    await allowIdle(ctx.db)
    await extractVersion(ctx, id)
    const response = workspace.unlock()
    await untilSomethingWaits()
    return { response }
  })

  expect((await unlocked.response).status).toBe(200)
  const response = await workspace.request('GET', `/workspaces/${workspace.id}`)
  expect(response.json().data.attributes['resource-count']).toBe(3)
})

/** Resolves when a statement in the database waits for another transaction. */
async function untilSomethingWaits() {
  while ((await countLockWaits(app.db)) === 0);
}
