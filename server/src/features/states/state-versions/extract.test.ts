import { beforeEach, expect, test } from 'vitest'
import { createStateSetting, lockedWorkspace, md5, type StateClient } from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

/** Small states are extracted immediately, large ones by a job. */
const SIZES = [
  ['small', 0],
  ['large', 200_000],
] as const

function resource(name: string) {
  return { mode: 'managed', type: 'thing', name, provider: 'provider["a/b/c"]', instances: [{ attributes: {} }] }
}

function stateOf(content: object, padding: number) {
  const head = { version: 4, terraform_version: '1.11.4', serial: 1, lineage: 'odd', padding: 'x'.repeat(padding) }
  return Buffer.from(JSON.stringify({ ...head, outputs: {}, resources: [], ...content }))
}

async function outputs() {
  return workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)
}

test.each(SIZES)('a %s state with names that the database cannot store is processed', async (_, padding) => {
  const raw = stateOf(
    {
      outputs: {
        'a\0b': { value: 'nul', type: 'string' },
        'c\ud800d': { value: { 'e\0': 1 }, type: ['object', { 'e\0': 'number' }] },
        '\\u0000': { value: 'a backslash', type: 'string' },
      },
      resources: [resource('f\0\\u0000'), resource('g\udfff')],
    },
    padding,
  )

  const created = await workspace.create(raw)
  await app.runJobs()

  const shown = await workspace.show(created.id)
  expect(shown.attributes).toMatchObject({ status: 'finalized', 'resources-processed': true })
  expect(shown.attributes.resources.map(({ name }: { name: string }) => name)).toEqual(['f\ufffd\\u0000', 'g\ufffd'])
  const { data } = (await outputs()).json()
  expect(data.map((output: any) => [output.attributes.name, output.attributes.value])).toEqual([
    ['\\u0000', 'a backslash'],
    ['a\ufffdb', 'nul'],
    ['c\ufffdd', { 'e\0': 1 }],
  ])
})

test.each(SIZES)(
  'a %s state with an extremely long name is processed without outputs and resources',
  async (_, padding) => {
    const created = await workspace.create(stateOf({ outputs: { ['é'.repeat(3000)]: { value: 1 } } }, padding))
    await app.runJobs()

    const shown = await workspace.show(created.id)
    expect(shown.attributes['resources-processed']).toBe(true)
    expect((await outputs()).json().data).toEqual([])
  },
)

test.each([400, 3000, 9000])('a large state with a value of %i levels is processed', async (levels) => {
  const raw = stateOf({}, 200_000).toString()
  const value = `${'['.repeat(levels)}1${']'.repeat(levels)}`
  const deep = Buffer.from(raw.replace('"outputs":{}', `"outputs":{"deep":{"value":${value}}}`))
  const attributes = { serial: 1, md5: md5(deep), state: deep.toString('base64') }

  const created = await workspace.request('POST', `/workspaces/${workspace.id}/state-versions`, {
    data: { type: 'state-versions', attributes },
  })
  await app.runJobs()

  expect((await workspace.show(created.json().data.id)).attributes['resources-processed']).toBe(true)
  expect((await outputs()).json().data.length).toBe(levels === 400 ? 1 : 0)
})

test.each([
  ['is nested too deeply', `{"a":{"value":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`],
  ['has a too long name', JSON.stringify({ ['x'.repeat(3000)]: { value: 1 } })],
])('json-state-outputs that %s is rejected with a pointer', async (_, json) => {
  const response = await workspace.post(stateOf({}, 0), { 'json-state-outputs': Buffer.from(json).toString('base64') })

  expect(response.status).toBe(422)
  expect(response.json().errors[0].source).toEqual({ pointer: '/data/attributes/json-state-outputs' })
})

test.each([
  ['terraform_version', { terraform_version: '1.\0' }],
  ['lineage', { lineage: 'a\ud800' }],
  ['version', { version: 3_000_000_000 }],
])('a %s that no engine writes is rejected with a pointer', async (name, content) => {
  const response = await workspace.post(stateOf(content, 0), { lineage: undefined })

  expect(response.status).toBe(422)
  expect(response.json().errors[0]).toMatchObject({
    detail: expect.stringContaining(name),
    source: { pointer: '/data/attributes/state' },
  })
})
