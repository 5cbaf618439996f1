import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openShared } from './content.ts'

const MB = 1024 * 1024
const content = Buffer.alloc(3 * MB, 'state')

/** Opens a content and counts its reads. */
function shared(key = randomUUID(), size = content.length) {
  const source = { reads: 0 }
  const open = async () =>
    openShared(key, size, async () => {
      source.reads += 1
      return content
    })
  return { source, open }
}

async function bytesOf(stream: Readable | undefined) {
  return Buffer.concat((await stream?.toArray()) as Buffer[])
}

test('concurrent readers share one read', async () => {
  const { source, open } = shared()

  const streams = await Promise.all([open(), open(), open()])

  for (const stream of streams) expect((await bytesOf(stream)).equals(content)).toBe(true)
  expect(source.reads).toBe(1)
})

test('nothing is retained after the last reader, whether it has finished or not', async () => {
  const { source, open } = shared()
  const [one, other] = await Promise.all([open(), open()])
  await bytesOf(one)
  await new Promise((resolve) => other?.once('close', resolve).destroy())

  await bytesOf(await open())

  expect(source.reads).toBe(2)
})

test('a reader waits for others if the memory for downloads is exhausted', async () => {
  const stream = await shared(randomUUID(), 16 * MB).open()
  const { source, open } = shared(randomUUID(), 16 * MB)
  const [waiting, other] = [open(), open()]
  const readsBefore = source.reads

  await bytesOf(stream)

  for (const waited of [waiting, other]) expect(await bytesOf(await waited)).toHaveLength(content.length)
  expect({ readsBefore, reads: source.reads }).toEqual({ readsBefore: 0, reads: 1 })
})

test('waiting readers are served in order, but can join held content', async () => {
  const full = shared(randomUUID(), 16 * MB)
  const [first, waiting] = [await full.open(), shared(randomUUID(), 16 * MB).open()]
  const { source, open } = shared(randomUUID(), MB)
  const late = open()

  const joined = await full.open()

  expect({ joined: joined !== undefined, late: source.reads }).toEqual({ joined: true, late: 0 })
  await Promise.all([bytesOf(first), bytesOf(joined)])
  await Promise.all([bytesOf(await waiting), bytesOf(await late)])
})

test('if no memory is freed nothing is held, and released memory is reusable', async () => {
  const stream = await shared(randomUUID(), 16 * MB).open()

  expect(await shared(randomUUID(), 16 * MB).open()).toBeUndefined()

  await bytesOf(stream)
  expect(await bytesOf(await shared(randomUUID(), 16 * MB).open())).toHaveLength(content.length)
})

test('unreadable content fails each reader, and is read again by the next', async () => {
  const key = randomUUID()
  const fail = async () => openShared(key, 1, () => Promise.reject(new Error('damaged')))

  const outcomes = await Promise.allSettled([fail(), fail()])

  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await bytesOf(await shared(key).open())).toHaveLength(content.length)
})
