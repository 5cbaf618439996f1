import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { announce } from '../../../changes/announce.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { allSignals } from '../../../testing/signals.ts'
import { streamHubOf } from './stream-hub.ts'
import { watch } from './testing/watch.ts'

const app = await createTestApp()
const url = await app.listen()

test('a client that never reads takes little memory, is disconnected after a minute, and does not delay others', async () => {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const other = await watch(url, organization.name, { token: owner.token })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.pause()
  socket.write(
    `GET /api/v2/organizations/${organization.name}/changes HTTP/1.1\r\nhost: localhost\r\n` +
      `accept: text/event-stream\r\nauthorization: Bearer ${owner.token}\r\n\r\n`,
  )
  const hub = streamHubOf(app.as())
  await expect.poll(() => hub.streams.size).toBe(2)
  const [, slow] = [...hub.streams]
  if (!slow) throw new Error('the stream was not opened')

  const announceRuns = (round: number, text: string) => {
    const ids = Array.from({ length: 400 }, (_, number) => `run-${round}-${number}-${text}`)
    announce(app, ...ids.map((id) => ({ organization: organization.id, type: 'runs' as const, id })))
  }
  // The buffers of the connection fill first.
  for (let round = 1; slow.stalledSince === undefined; round += 1) {
    announceRuns(round, 'x'.repeat(2000))
    // The stream may also report the organization, which was created just before.
    await expect.poll(() => other.changes.filter(({ type }) => type === 'runs')).toHaveLength(round * 400)
  }
  for (let round = 0; round < 10; round += 1) {
    announceRuns(round, '')
    await allSignals(app)
  }

  expect(slow.readable.readableLength).toBeLessThan(1024 * 1024)
  expect(slow.pending.size).toBeLessThanOrEqual(500)

  const real = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + 61_000)
  onTestFinished(() => clock.mockRestore())
  const closed = once(
    socket.on('error', () => {}),
    'close',
  )
  await expect.poll(() => hub.streams.size).toBe(1)
  socket.resume()
  await closed
  expect(other.isOver).toBe(false)
})
