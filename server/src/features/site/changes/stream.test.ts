import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { SignalledChange } from '../../../changes/feed.ts'
import { addPending, type ChangeStream, newStream, sendChanges, sendEvent, type StreamActor } from './stream.ts'

const actor: StreamActor = { kind: 'organization', organizationId: 'org-1', tokenId: 'at-1' }
const watched = { actor, organizationId: 'org-1', personId: 'user-1' }

function change(number: number): SignalledChange {
  return { cursor: String(number), organization: 'org-1', type: 'runs', id: `run-${number}`, workspace: 'ws-1' }
}

/** Sends changes until the client stops reading. */
function fill(stream: ChangeStream) {
  let sent = 0
  for (; stream.stalledSince === undefined; sent += 1) sendChanges(stream, [change(sent)], String(sent))
  return sent
}

test('a client that does not read is reset after a limited number of changes', () => {
  const stream = newStream(watched, () => {})
  fill(stream)

  for (let number = 0; number < 10_000; number += 1) addPending(stream, change(number))

  expect(stream.readable.readableLength).toBeLessThan(100_000)
  expect([stream.pending.size, stream.isReset]).toEqual([0, true])
})

test('a repeated pending change is sent once', () => {
  const stream = newStream(watched, () => {})

  for (let number = 0; number < 10_000; number += 1) addPending(stream, change(number % 10))

  expect([stream.pending.size, stream.isReset]).toEqual([10, false])
})

test('changes for different teams are all kept', () => {
  const stream = newStream(watched, () => {})

  for (const other of ['team-2', 'team-3', 'team-2']) addPending(stream, { ...change(1), teams: ['team-1', other] })

  expect([...stream.pending.values()].map(({ teams }) => teams?.[1])).toEqual(['team-2', 'team-3'])
})

test('a client that resumes reading gets changes again', async () => {
  let served = 0
  const stream = newStream(watched, () => {
    served += 1
  })
  fill(stream)

  stream.readable.resume()
  await once(stream.readable, 'data')
  await expect.poll(() => served).toBe(1)

  expect(stream.stalledSince).toBe(undefined)
})

test('an idle stream sends keep-alive events, readable for users and programs', () => {
  const stream = newStream(watched, () => {})

  sendEvent(stream, 'alive', '4711')

  expect(String(stream.readable.read())).toBe('retry: 2000\n\n: alive\nevent: alive\nid: 4711\ndata: {}\n\n')
})
