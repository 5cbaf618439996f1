import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { sweepBlobs } from './sweep.ts'

const DAY_MS = 86_400_000

async function keysOf(app: TestApp) {
  const keys: string[] = []
  for await (const page of app.blobs.list('orphans/')) keys.push(...page.keys)
  return keys
}

const keyOf = (number: number) => `orphans/x-${String(number).padStart(16, '0')}/x`

test('an interrupted sweep is continued by the next one, and the one after that starts over', async () => {
  const app = await createTestApp()
  await Promise.all(Array.from({ length: 700 }, (_, n) => app.blobs.put(keyOf(n), Buffer.from('x'))))
  app.clock.advance(3 * DAY_MS)
  const looked: string[] = []
  const sweep = async (signal: AbortSignal, onLook?: () => void) =>
    sweepBlobs(
      app,
      'orphans/',
      async (keys) => {
        looked.push(...keys)
        onLook?.()
        return new Set([keyOf(7)])
      },
      signal,
    )
  const stop = new AbortController()

  const first = await sweep(stop.signal, () => stop.abort())
  const atFirst = looked.splice(0).length
  const second = await sweep(new AbortController().signal)
  const atSecond = looked.splice(0).length
  const third = await sweep(new AbortController().signal)

  expect(first + second).toBe(699)
  expect(first).toBeGreaterThan(400)
  expect(atFirst).toBe(500)
  // Except for one directory, it lists only what the first sweep did not.
  expect(atSecond).toBeLessThan(300)
  expect(third).toBe(0)
  expect(await keysOf(app)).toEqual([keyOf(7)])
})

test('objects of other applications in the bucket are not swept', async () => {
  const app = await createTestApp()
  for (const key of ['orphans/app.log', 'orphans/web-1/2026.log', keyOf(1)]) await app.blobs.put(key, Buffer.from('x'))
  app.clock.advance(3 * DAY_MS)

  await sweepBlobs(app, 'orphans/', async () => new Set(), new AbortController().signal)

  expect((await keysOf(app)).toSorted()).toEqual(['orphans/app.log', 'orphans/web-1/2026.log'])
})
