import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createTestApp } from './testing/app.ts'

const app = await createTestApp()

test('a topic that is published before the wait wakes it, once', async () => {
  using subscription = app.signals.subscribe('topic')
  using witness = app.signals.subscribe('topic')
  await app.signals.publish(app.db, 'topic')
  expect(await witness.next({ timeoutMs: 5000 })).toBe(true)

  expect(await subscription.next({ timeoutMs: 0 })).toBe(true)
  expect(await subscription.next({ timeoutMs: 0 })).toBe(false)
})

test('an abort ends a wait', async () => {
  const abort = new AbortController()
  using subscription = app.signals.subscribe('topic')
  const waiting = subscription.next({ timeoutMs: 60_000, signal: abort.signal })

  abort.abort()

  expect(await waiting).toBe(false)
})

test('a wait that is over leaves no listener on its abort signal', async () => {
  const { signal } = new AbortController()
  using subscription = app.signals.subscribe('topic')

  for (let wait = 0; wait < 3; wait += 1) await subscription.next({ timeoutMs: 1, signal })

  expect(getEventListeners(signal, 'abort')).toEqual([])
})
