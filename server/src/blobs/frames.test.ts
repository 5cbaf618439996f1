import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyId } from '../secrets/key-id.ts'
import { BlobCorruptError } from './errors.ts'
import {
  blobKeyId,
  blobSecrets,
  FRAME_BYTES,
  FrameReader,
  FrameWriter,
  HEADER_BYTES,
  resealBuffer,
  resealChunks,
  sealBuffer,
  unsealBuffer,
} from './frames.ts'

const secret = blobSecrets({ current: randomBytes(32), previous: [] })

function open(sealed: Buffer, key = 'k') {
  const reader = new FrameReader(secret, key)
  const released = reader.push(sealed)
  return { released, end: () => Buffer.concat([...released, reader.end()]) }
}

test('content of any length and chunking round-trips', () => {
  const lengths = fc.oneof(
    fc.nat(300),
    fc.constantFrom(0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 2 * FRAME_BYTES, 3 * FRAME_BYTES + 7),
  )
  const sizes = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 5 })
  const cut = (content: Buffer, [first = 1, ...rest]: number[]): Buffer[] =>
    content.length === 0 ? [] : [content.subarray(0, first), ...cut(content.subarray(first), [...rest, first])]

  fc.assert(
    fc.property(lengths, sizes, sizes, (length, written, read) => {
      const content = randomBytes(length)
      const writer = new FrameWriter(secret, 'k', 'plain')
      const frames = cut(
        content,
        written.map((size) => Math.max(size, length >> 6)),
      ).flatMap((part) => writer.push(part))
      const sealed = Buffer.concat([writer.header, ...frames, ...writer.end()])

      const reader = new FrameReader(secret, 'k')
      const parts = cut(
        sealed,
        read.map((size) => Math.max(size, sealed.length >> 6)),
      ).flatMap((part) => reader.push(part))

      expect(Buffer.concat([...parts, reader.end()]).equals(content)).toBe(true)
    }),
    { numRuns: 60 },
  )
})

const LONG = 3 * FRAME_BYTES + 500
const whole = sealBuffer(secret, 'k', randomBytes(LONG), false)
const frame = (n: number) => HEADER_BYTES + n * (FRAME_BYTES + 16)

const REGIONS: [string, number][] = [
  ...Array.from({ length: HEADER_BYTES }, (_, offset): [string, number] => [`header byte ${offset}`, offset]),
  ['first ciphertext byte', HEADER_BYTES],
  ['tag of the first frame', frame(1) - 1],
  ['first byte of the second frame', frame(1)],
  ['middle of the third frame', frame(2) + 1000],
  ['last frame', frame(3) + 10],
  ['last byte', whole.length - 1],
]

test.each(REGIONS)('a flipped bit in the %s is detected', (_region, offset) => {
  for (const bit of [1, 0x80]) {
    const damaged = Buffer.from(whole)
    damaged.writeUInt8(damaged.readUInt8(offset) ^ bit, offset)

    expect(() => open(damaged).end()).toThrow(BlobCorruptError)
  }
})

test.each([
  0,
  1,
  HEADER_BYTES - 1,
  HEADER_BYTES,
  HEADER_BYTES + 15,
  frame(1) - 1,
  frame(1),
  frame(1) + 16,
  frame(2),
  frame(3),
  frame(3) + 16,
  whole.length - 1,
])('a blob truncated to %i bytes is detected', (length) => {
  expect(() => open(whole.subarray(0, length)).end()).toThrow(BlobCorruptError)
})

test('appended, swapped, dropped and repeated frames are detected', () => {
  const parts = [0, 1, 2].map((n) => whole.subarray(frame(n), frame(n + 1)))
  const [first, second, third] = parts as [Buffer, Buffer, Buffer]
  const header = whole.subarray(0, HEADER_BYTES)
  const last = whole.subarray(frame(3))

  for (const made of [
    [header, second, first, third, last],
    [header, first, third, last],
    [header, first, first, second, third, last],
    [header, first, second, third, last, last],
    [header, first, second, third, last, Buffer.alloc(1)],
    [header, last],
  ]) {
    expect(() => open(Buffer.concat(made)).end()).toThrow(BlobCorruptError)
  }
})

test('frames before a damaged one are returned, the damaged one never', () => {
  const damaged = Buffer.from(whole)
  damaged.writeUInt8(damaged.readUInt8(frame(2) + 5) ^ 1, frame(2) + 5)
  const reader = new FrameReader(secret, 'k')

  const released = reader.push(damaged.subarray(0, frame(2)))
  expect(() => reader.push(damaged.subarray(frame(2)))).toThrow(/damaged or truncated in frame 2/)

  expect(released.reduce((sum, part) => sum + part.length, 0)).toBe(FRAME_BYTES)
})

test('a blob of a previous secret opens, and is sealed with the current one without unpacking it', async () => {
  const [before, current] = [randomBytes(32), randomBytes(32)]
  const old = blobSecrets({ current: before, previous: [] })
  const both = blobSecrets({ current, previous: [before] })
  const now = blobSecrets({ current, previous: [] })
  for (const size of [0, 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES]) {
    const content = randomBytes(size)
    const sealed = sealBuffer(old, 'k', content)

    const resealed = resealBuffer(both, 'k', sealed)
    const streamed: Buffer[] = []
    for await (const chunk of resealChunks(both, 'k', [sealed])) streamed.push(chunk)

    expect(unsealBuffer(both, 'k', sealed)).toEqual(content)
    expect(unsealBuffer(now, 'k', resealed)).toEqual(content)
    expect(unsealBuffer(now, 'k', Buffer.concat(streamed))).toEqual(content)
    expect(resealed).toHaveLength(sealed.length)
    expect(blobKeyId(resealed)).toEqual(keyId(current))
  }
})

test('a blob does not open under another name or with another secret, and the error names the mismatch', () => {
  expect(() => open(whole, 'other').end()).toThrow(/damaged/)

  const other = blobSecrets({ current: randomBytes(32), previous: [] })
  expect(() => unsealBuffer(other, 'k', whole)).toThrow(/sealed with the secret with the id [0-9a-f]{8}, which/)
})

test('the same content never seals to the same bytes', () => {
  const content = Buffer.from('same')

  expect(sealBuffer(secret, 'k', content).equals(sealBuffer(secret, 'k', content))).toBe(false)
})

test('a secret of another length is rejected', () => {
  expect(() => blobSecrets({ current: Buffer.alloc(16), previous: [] })).toThrow('the secret must be 32 bytes, not 16')
})
