import { createHash, randomBytes } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Blobs } from '../blobs.ts'
import { BlobCorruptError, BlobExistsError, BlobNotFoundError, BlobTooLargeError } from '../errors.ts'

/** A driver under test: its blobs, and direct access to the stored bytes. */
export type SuiteStore = {
  blobs: Blobs
  damage(key: string, change: (sealed: Buffer) => Buffer): Promise<void>
  /** Number of unfinished files or uploads. */
  leftovers(): Promise<number>
  /** The same blobs with other secrets. */
  reopen(secret: Buffer, previousSecrets?: readonly Buffer[]): Promise<Blobs>
  close(): Promise<void>
}

const MB = 1024 * 1024

/** Tests that every driver must pass, called by its test file. */
export function describeBlobs(name: string, open: (secret: Buffer) => Promise<SuiteStore>) {
  describe(`blobs on ${name}`, () => {
    let store: SuiteStore
    let blobs: Blobs
    let keys = 0
    const newKey = () => `suite/sv-${keys++}/raw`
    const secret = randomBytes(32)
    beforeAll(async () => {
      store = await open(secret)
      blobs = store.blobs
    })
    afterAll(() => store.close())

    test('a blob is sealed with another secret under the same name, whether it was moved to its shard or not', async () => {
      const [small, large] = [newKey(), newKey()]
      const content = randomBytes(17 * MB)
      await blobs.put(small, Buffer.from('small'))
      await blobs.put(large, content, { compress: false })
      await blobs.settle(new Date(Date.now() + 60_000), new AbortController().signal)
      const recent = newKey()
      await blobs.put(recent, Buffer.from('recent'))
      const other = randomBytes(32)
      await using both = await store.reopen(other, [secret])

      expect(await Promise.all([small, large, recent].map(both.reseal))).toEqual(['resealed', 'resealed', 'resealed'])
      expect(await Promise.all([small, newKey()].map(both.reseal))).toEqual(['current', 'missing'])

      await using after = await store.reopen(other)
      await after.settle(new Date(Date.now() + 60_000), new AbortController().signal)
      expect((await after.read(small)).toString()).toBe('small')
      expect((await after.read(recent)).toString()).toBe('recent')
      expect((await after.read(large)).equals(content)).toBe(true)
      expect((await after.stat(large))?.storedSize).toBe((await blobs.stat(large))?.storedSize)
      await expect(blobs.read(small)).rejects.toThrow('sealed with the secret with the id')
      expect(await blobs.reseal(small)).toBe('foreign')
      for (const key of [small, large, recent]) await blobs.delete(key)
    })

    const text = Buffer.from('{"resources":[{"type":"terraform_data"}]}\n'.repeat(200_000))
    test.each([
      ['nothing', Buffer.alloc(0)],
      ['one byte', Buffer.from('x')],
      ['2 KB', text.subarray(0, 2048)],
      ['exactly a frame', randomBytes(65_536)],
      ['200 KB', text.subarray(0, 200_000)],
      ['8 MB that shrink', text],
    ])('%s round-trips as a buffer and as a stream, compressed or not', async (_label, content) => {
      for (const compress of [true, false]) {
        for (const source of [content, Readable.from(chunks(content)), chunks(content)]) {
          const key = newKey()

          const info = await blobs.put(key, source, { compress })

          expect(info).toEqual({
            size: content.length,
            md5: createHash('md5').update(content).digest('hex'),
            storedSize: (await blobs.stat(key))?.storedSize,
          })
          expect((await blobs.read(key)).equals(content)).toBe(true)
          expect(Buffer.concat(await (await blobs.open(key)).toArray()).equals(content)).toBe(true)
          await blobs.delete(key)
        }
      }
    })

    test.each([true, false])('17 MB of incompressible content round-trip, compressed: %s', async (compress) => {
      const key = newKey()
      const content = randomBytes(17 * MB)

      await blobs.put(key, compress ? content : Readable.from(chunks(content)), { compress })

      expect((await blobs.read(key)).equals(content)).toBe(true)
    })

    test('stored bytes do not reveal the content and are smaller', async () => {
      const key = newKey()

      const { storedSize } = await blobs.put(key, text.subarray(0, 100_000))

      expect(storedSize).toBeLessThan(10_000)
      await store.damage(key, (sealed) => {
        expect(sealed.includes('terraform_data')).toBe(false)
        return sealed
      })
    })

    test('a second put of small or large content to a key fails, and the first stays', async () => {
      const [small, large] = [newKey(), newKey()]
      await blobs.put(small, Buffer.from('first'))
      await blobs.put(large, randomBytes(MB))

      await expect(blobs.put(small, Buffer.from('second'))).rejects.toThrow(BlobExistsError)
      await expect(blobs.put(large, randomBytes(17 * MB))).rejects.toThrow(BlobExistsError)

      expect((await blobs.read(small)).toString()).toBe('first')
      expect(await store.leftovers()).toBe(0)
    })

    test('exactly one of several concurrent puts to a key succeeds', async () => {
      const key = newKey()
      const contents = Array.from({ length: 16 }, () => randomBytes(2048))

      const results = await Promise.allSettled(contents.map((content) => blobs.put(key, content)))

      const winners = contents.filter((_, n) => results[n]?.status === 'fulfilled')
      expect(winners).toHaveLength(1)
      expect(await blobs.read(key)).toEqual(winners[0])
    })

    test('repeated rounds of 16 concurrent puts are all readable', async () => {
      const put = new Map<string, Buffer>()
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          for (let n = 0; n < 10; n++) {
            const [key, content] = [newKey(), randomBytes(2048)]
            await blobs.put(key, content)
            put.set(key, content)
          }
        }),
      )

      expect(put.size).toBe(160)
      for (const [key, content] of put) expect(await blobs.read(key)).toEqual(content)
    })

    test('content above maxBytes is rejected, leaves nothing, and its key remains usable', async () => {
      for (const [size, maxBytes] of [
        [2048, 2047],
        [MB, MB - 1],
        [MB, 10],
        [18 * MB, 18 * MB - 1],
      ] as const) {
        for (const compress of [true, false]) {
          const key = newKey()
          const content = randomBytes(size)
          await expect(blobs.put(key, content, { maxBytes, compress })).rejects.toThrow(BlobTooLargeError)
          await expect(blobs.put(key, Readable.from(chunks(content)), { maxBytes, compress })).rejects.toThrow(
            `blob ${key} is larger than ${maxBytes} bytes`,
          )

          expect(await blobs.stat(key)).toBeUndefined()
          expect(await store.leftovers()).toBe(0)
          await blobs.put(key, content, { maxBytes: size })
        }
      }
    })

    test('a stream that is too large stays open, so that its request gets a response', async () => {
      const source = new PassThrough()
      source.write(randomBytes(4 * MB))

      await expect(blobs.put(newKey(), source, { maxBytes: MB })).rejects.toThrow(BlobTooLargeError)

      expect(source.destroyed).toBe(false)
      source.destroy()
    })

    test('an error of the source fails the put and leaves nothing', async () => {
      for (const good of [10, 3 * MB, 18 * MB]) {
        for (const compress of [true, false]) {
          const key = newKey()
          const source = async function* () {
            yield* chunks(randomBytes(good))
            throw new Error('the client disconnected')
          }

          await expect(blobs.put(key, source(), { compress })).rejects.toThrow('the client disconnected')

          expect(await blobs.stat(key)).toBeUndefined()
          expect(await store.leftovers()).toBe(0)
        }
      }
    })

    test('a damaged blob is never returned as intact', async () => {
      for (const [content, compress] of [
        [text.subarray(0, 2000), true],
        [text, true],
        [randomBytes(2 * MB), false],
      ] as const) {
        const changes: ((sealed: Buffer) => Buffer)[] = [
          (sealed) => flip(sealed, 4),
          (sealed) => flip(sealed, 30),
          (sealed) => flip(sealed, sealed.length - 1),
          (sealed) => flip(sealed, Math.floor(sealed.length / 2)),
          (sealed) => sealed.subarray(0, sealed.length - 1),
          (sealed) => sealed.subarray(0, Math.floor(sealed.length / 2)),
          (sealed) => sealed.subarray(0, 26 + 65_552),
          (sealed) => Buffer.concat([sealed, Buffer.alloc(1)]),
          () => Buffer.alloc(0),
        ]
        for (const change of changes) {
          const key = newKey()
          await blobs.put(key, content, { compress })
          await store.damage(key, (sealed) =>
            sealed.length < 70_000 && change === changes[6] ? sealed.subarray(0, 26) : change(sealed),
          )

          await expect(blobs.read(key)).rejects.toThrow(BlobCorruptError)
          await expect(drain(blobs, key, content)).rejects.toThrow(BlobCorruptError)
        }
      }
    })

    test('a stream that is destroyed early releases its source', async () => {
      const key = newKey()
      await blobs.put(key, randomBytes(4 * MB))

      const stream = await blobs.open(key)
      stream.destroy()
      await nextTurn()

      expect(stream.destroyed).toBe(true)
      expect((await blobs.read(key)).length).toBe(4 * MB)
    })

    test('a missing blob is reported as missing', async () => {
      await expect(blobs.read('suite/nothing')).rejects.toThrow(BlobNotFoundError)
      await expect(blobs.open('suite/nothing')).rejects.toThrow('blob suite/nothing does not exist')
      expect(await blobs.stat('suite/nothing')).toBeUndefined()
      await blobs.delete('suite/nothing')
    })

    test('a deleted blob is missing', async () => {
      const key = newKey()
      await blobs.put(key, Buffer.from('x'))

      await blobs.delete(key)

      expect(await blobs.stat(key)).toBeUndefined()
      await expect(blobs.read(key)).rejects.toThrow(BlobNotFoundError)
    })

    test('a listing has every blob of a prefix, over several pages, and each has its size and age', async () => {
      const before = Date.now() - 2000
      await Promise.all(Array.from({ length: 250 }, (_, n) => blobs.put(`listed/${n}`, Buffer.from('x'))))
      await blobs.put('listed-not', Buffer.from('x'))

      const listed: string[] = []
      for await (const { keys } of blobs.list('listed/')) listed.push(...keys)

      expect(listed.sort()).toEqual(Array.from({ length: 250 }, (_, n) => `listed/${n}`).sort())
      for (const key of listed) {
        const blob = await blobs.stat(key)
        expect(blob?.storedSize).toBe(43)
        expect(blob?.modifiedAt.getTime()).toBeGreaterThan(before)
      }
    })

    test('a listing that resumes an interrupted one misses nothing', async () => {
      await Promise.all(Array.from({ length: 650 }, (_, n) => blobs.put(`broken-off/${n}`, Buffer.from('x'))))
      const listed = new Set<string>()
      let at: string | undefined
      let listings = 0
      for (let size = -1; size !== listed.size;) {
        size = listed.size
        listings += 1
        for await (const { keys, cursor } of blobs.list('broken-off/', at)) {
          for (const key of keys) listed.add(key)
          at = cursor
          break
        }
      }

      expect(listings).toBeGreaterThan(2)
      expect(listed.size).toBe(650)
    })

    test('settled blobs are read, listed, write-once and deletable', async () => {
      const [small, large, deleted] = [newKey(), newKey(), newKey()]
      const content = randomBytes(MB)
      await blobs.put(small, Buffer.from('small'))
      await blobs.put(large, content)
      await blobs.put(deleted, Buffer.from('x'))

      await blobs.settle(new Date(Date.now() + 60_000), AbortSignal.timeout(60_000))
      await blobs.delete(deleted)

      expect((await blobs.read(small)).toString()).toBe('small')
      expect((await blobs.read(large)).equals(content)).toBe(true)
      expect(await blobs.stat(deleted)).toBeUndefined()
      await expect(blobs.put(small, Buffer.from('other'))).rejects.toThrow(BlobExistsError)
      expect((await blobs.read(small)).toString()).toBe('small')
      const listed: string[] = []
      for await (const { keys } of blobs.list('suite/')) listed.push(...keys)
      expect(listed).toEqual(expect.arrayContaining([small, large]))
      expect(listed).not.toContain(deleted)
    })

    test('keys that could name a file elsewhere are rejected', async () => {
      for (const key of [
        '',
        '/a',
        'a/',
        'a//b',
        '../a',
        'a/../b',
        '.',
        'a/.hidden',
        'a b',
        'a~b',
        'ä',
        'a'.repeat(201),
      ]) {
        await expect(blobs.put(key, Buffer.from('x'))).rejects.toThrow('invalid blob key')
        await expect(blobs.read(key)).rejects.toThrow('invalid blob key')
      }
    })

    test('a sealed buffer opens under its key only', () => {
      const sealed = blobs.sealBuffer('a', text.subarray(0, 2048))

      expect(blobs.unsealBuffer('a', sealed)).toEqual(text.subarray(0, 2048))
      expect(() => blobs.unsealBuffer('b', sealed)).toThrow(BlobCorruptError)
    })
  })
}

async function* chunks(content: Buffer) {
  for (let offset = 0; offset < content.length; offset += 50_000) yield content.subarray(offset, offset + 50_000)
}

function flip(sealed: Buffer, offset: number) {
  const damaged = Buffer.from(sealed)
  damaged.writeUInt8(damaged.readUInt8(offset) ^ 1, offset)
  return damaged
}

/** Reads a stream to its end, and checks that all bytes before a failure are right. */
async function drain(blobs: Blobs, key: string, content: Buffer) {
  let offset = 0
  for await (const chunk of (await blobs.open(key)) as AsyncIterable<Buffer>) {
    expect(chunk.equals(content.subarray(offset, offset + chunk.length))).toBe(true)
    offset += chunk.length
  }
}
