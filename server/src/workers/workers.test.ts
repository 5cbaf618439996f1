import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import type { Outcome } from './tasks.ts'
import { createWorkers } from './workers.ts'

const workers = createWorkers({ maxThreads: 1 })
afterAll(() => workers[Symbol.asyncDispose]())

const file = (path: string) => readFileSync(new URL(path, import.meta.url))
const state = (name: string) => file(`../terraform-state/testdata/${name}.json`)
const plan = (name: string) => file(`../../../contract/src/testdata/${name}.json`)
/** The same document with enough white space to be processed in a thread. */
const padded = (content: Uint8Array) => Buffer.concat([content, Buffer.alloc(200_000, ' ')])

const diffOf = (outcome: Outcome<Uint8Array>) => JSON.parse(outcome.ok ? Buffer.from(outcome.value).toString() : 'null')

describe.each([
  ['at once', (content: Uint8Array) => content],
  ['in a thread', padded],
])('%s', (_where, sized) => {
  test('a raw state is extracted', async () => {
    const outcome = await workers.extract(sized(state('state-1')))

    expect(outcome).toMatchObject({
      ok: true,
      value: { stateVersion: 4, modules: expect.stringContaining('"root":{"terraform-data":7}') },
    })
  })

  test('a raw state is examined: MD5, header and extraction', async () => {
    const content = sized(state('state-1'))

    const outcome = await workers.examine(content)

    expect(outcome).toMatchObject({
      ok: true,
      value: { md5: hash('md5', content), header: { version: 4 }, extraction: { resourceCount: expect.any(Number) } },
    })
  })

  test('a JSON state is extracted', async () => {
    const outcome = await workers.extractJson(sized(state('show-1')))

    expect(outcome).toMatchObject({
      ok: true,
      value: { modules: expect.stringContaining('"root":{"terraform-data":7}') },
    })
  })

  test('two states are compared within limits', async () => {
    const outcome = await workers.diff(sized(state('state-1')), sized(state('state-2')), { entries: 1 })

    expect(diffOf(outcome)).toMatchObject({ truncated: true, counts: { resources: { added: 3 } } })
  })

  test('a plan is redacted', async () => {
    const outcome = await workers.redactPlan(sized(plan('update')), plan('schemas'))

    const text = outcome.ok ? Buffer.from(outcome.value).toString() : ''
    expect(JSON.parse(text)).toMatchObject({ plan_format_version: '1.2' })
    expect(text).not.toContain('secret-value')
  })

  test('a redacted plan has all digits of its numbers', async () => {
    const change = '{"before":null,"after":{"id":12345678901234567890,"rate":0.1000000000000000055}}'
    const outcome = await workers.redactPlan(
      sized(Buffer.from(`{"output_changes":{"o":${change}}}`)),
      Buffer.from('{}'),
    )

    expect(outcome.ok ? Buffer.from(outcome.value).toString() : '').toContain(`"output_changes":{"o":${change}}`)
  })

  test.each([
    ['{"version":4,', /^the state is not valid JSON: /],
    ['{"version":9}', /^the state has format version 9/],
  ])('%s is an outcome with a reason', async (text, reason) => {
    const outcome = await workers.extract(sized(Buffer.from(text)))

    expect(outcome).toEqual({ ok: false, reason: expect.stringMatching(reason) })
  })
})

test('the remote reads of a configuration are found', async () => {
  const readers = [
    { mode: 'data', type: 'tfe_outputs', name: 'net', values: { organization: 'main', workspace: 'network' } },
  ]
  const document = {
    configuration: { root_module: { resources: readers } },
    prior_state: { values: { root_module: { resources: readers } } },
  }

  const outcome = await workers.remoteReads(
    Buffer.from(JSON.stringify(document)),
    gzipSync('data.tfe_outputs.net.values.vpc'),
  )

  expect(outcome).toEqual({ ok: true, value: [{ organization: 'main', workspace: 'network', outputs: ['vpc'] }] })
})

test('a configuration that cannot be unpacked is a result with a reason', async () => {
  const outcome = await workers.remoteReads(Buffer.from('{}'), Buffer.from('no archive'))

  expect(outcome).toEqual({ ok: false, reason: 'the configuration cannot be unpacked' })
})

test.each([1000, 3000, 9000])('a value of %i levels does not block the thread', async (depth) => {
  const value = `${'['.repeat(depth)}1${']'.repeat(depth)}`

  const outcomes = [
    await workers.extract(padded(Buffer.from(`{"version":4,"serial":1,"outputs":{"deep":{"value":${value}}}}`))),
    await workers.extract(padded(state('state-1'))),
  ]

  expect(outcomes.map(({ ok }) => ok)).toEqual([false, true])
})

test('large content is read sequentially, and leaves a thread to smaller content', async () => {
  await using two = createWorkers({ maxThreads: 2 })
  const ended: string[] = []
  const read = async (name: string, spaces: number) => {
    expect(
      await two.readHeader(
        Buffer.concat([file('../terraform-state/testdata/state-1.json'), Buffer.alloc(spaces, ' ')]),
      ),
    ).toMatchObject({ ok: true })
    ended.push(name)
  }
  // Both threads have started.
  await Promise.all([read('first', 200_000), read('second', 200_000)])

  const large = ['a', 'b', 'c', 'd'].map(async (name) => read(name, 24 * 1024 * 1024))
  await Promise.all([...large, read('small', 200_000)])

  expect(ended.slice(2).filter((name) => name !== 'small')).toEqual(['a', 'b', 'c', 'd'])
  expect(ended.indexOf('small')).toBeLessThan(ended.indexOf('c'))
})

test('content with a dedicated buffer is transferred without a copy', async () => {
  const content = padded(state('state-1'))

  const outcome = await workers.extract(content)

  expect(outcome.ok).toBe(true)
  expect(content.byteLength).toBe(0)
})

test('a view of a larger buffer is copied, and so is a repeated buffer', async () => {
  const whole = padded(state('state-1'))
  const view = new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength - 1)

  const outcome = await workers.diff(view, view)

  expect(diffOf(outcome)).toMatchObject({ resources: [] })
  expect(view.byteLength).toBeGreaterThan(200_000)
})

test('both sides may share a buffer', async () => {
  const content = padded(state('state-1'))

  expect(diffOf(await workers.diff(content, content))).toMatchObject({ resources: [] })
})

test.each(['inspect', 'examine'] as const)('a state is not transferred by %s', async (task) => {
  const content = padded(state('state-1'))

  const outcome = await workers[task](content)

  expect(outcome).toMatchObject({
    ok: true,
    value: { md5: expect.stringMatching(/^[0-9a-f]{32}$/), header: { version: 4 } },
  })
  expect(content.byteLength).toBeGreaterThan(200_000)
})

test('shared memory is read in place', async () => {
  const content = padded(state('state-1'))
  const shared = new Uint8Array(new SharedArrayBuffer(content.byteLength))
  shared.set(content)

  const outcome = await workers.extract(shared)

  expect(outcome.ok).toBe(true)
  expect(shared.byteLength).toBe(content.byteLength)
})
