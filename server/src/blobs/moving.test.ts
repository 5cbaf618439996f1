import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BlobStore } from './blob-store.ts'
import { createBlobs } from './blobs.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { blobSecrets } from './frames.ts'
import { moveBlobs, openDriver } from './moving.ts'
import { createS3Server } from './testing/s3-server.ts'

const bytes = randomBytes(32)
const secrets = blobSecrets({ current: bytes, previous: [] })
const signal = new AbortController().signal
const watch = { add() {}, signal }
/** Passed as a buffer and as a stream. */
const CONTENTS = new Map(
  [1000, 2000, 600_000].map((size, n) => [`state-versions/sv-${n}aaaaaaaaaaaaaaa/raw`, randomBytes(size)]),
)

async function openStores(direction: string) {
  const server = await createS3Server()
  const directory = await mkdtemp(join(tmpdir(), 'moving-'))
  const stack = new AsyncDisposableStack()
  stack.defer(async () => rm(directory, { recursive: true, force: true }))
  stack.use(server)
  onTestFinished(async () => stack.disposeAsync())
  const open = async (store: BlobStore, options: { movedFrom?: BlobStore; secret?: Buffer } = {}) =>
    stack.use(await createBlobs({ secret: bytes, store, ...options }))
  const disk: BlobStore = { kind: 'disk', root: join(directory, 'blobs') }
  const bucket: BlobStore = { kind: 's3', ...server.config, prefix: 'moved/' }
  const [from, to] = direction === 'disk to a bucket' ? [disk, bucket] : [bucket, disk]
  const old = await open(from)
  for (const [key, content] of CONTENTS) await old.put(key, content, { compress: false })
  const drivers = { from: stack.use(await openDriver(from)), to: stack.use(await openDriver(to)), secrets }
  return { server, from, to, old, drivers, open }
}

describe.each(['disk to a bucket', 'a bucket to disk'])('from %s', (direction) => {
  test('an interrupted move is continued, and every blob arrives', async () => {
    const { to, drivers, open } = await openStores(direction)
    const stop = new AbortController()
    const interrupted = moveBlobs(drivers, { add: () => stop.abort(), signal: stop.signal })

    await interrupted.catch(() => {})
    const second = await moveBlobs(drivers, watch)
    const third = await moveBlobs(drivers, watch)

    expect(second.copied + second.present).toBe(CONTENTS.size)
    expect(third).toEqual({ copied: 0, present: CONTENTS.size, skipped: 0, damaged: [] })
    const blobs = await open(to)
    for (const [key, content] of CONTENTS) expect((await blobs.read(key)).equals(content)).toBe(true)
  })

  test('a blob that was sealed with another secret since its copy is copied again', async () => {
    const { from, to, drivers, open } = await openStores(direction)
    await moveBlobs(drivers, watch)
    const next = randomBytes(32)
    const rotated = await createBlobs({ secret: next, previousSecrets: [bytes], store: from })
    for (const key of CONTENTS.keys()) await rotated.reseal(key)
    await rotated[Symbol.asyncDispose]()

    const moved = await moveBlobs({ ...drivers, secrets: blobSecrets({ current: next, previous: [] }) }, watch)

    expect(moved).toMatchObject({ copied: CONTENTS.size, present: 0 })
    const blobs = await open(to, { secret: next })
    for (const [key, content] of CONTENTS) expect((await blobs.read(key)).equals(content)).toBe(true)
  })

  test('during a move, blobs are read from both stores, written to the new one, and deleted from both', async () => {
    const { from, to, old, drivers, open } = await openStores(direction)
    const [first = '', second = ''] = [...CONTENTS.keys()]
    const moving = await open(to, { movedFrom: from })
    const current = await open(to)

    expect((await moving.read(first)).equals(CONTENTS.get(first) ?? Buffer.alloc(0))).toBe(true)
    await expect(moving.put(first, Buffer.from('other'))).rejects.toThrow(BlobExistsError)
    await moving.put('logs/plan-new/0', Buffer.from('new'))
    expect(await current.read('logs/plan-new/0')).toEqual(Buffer.from('new'))
    await moving.delete(second)
    await moveBlobs(drivers, watch)
    await moving.delete(first)

    for (const store of [old, current, moving])
      for (const key of [first, second]) await expect(store.read(key)).rejects.toThrow(BlobNotFoundError)
  })

  test('a damaged blob is named and not copied', async () => {
    const { from, drivers, open } = await openStores(direction)
    const key = 'logs/plan-damaged/0'
    const other = await open(from, { secret: randomBytes(32) })
    await other.put(key, Buffer.from('sealed with another secret'))

    const { damaged, copied } = await moveBlobs(drivers, watch)

    expect([damaged, copied]).toEqual([[expect.stringContaining(key)], CONTENTS.size])
    expect(await drivers.to.stat(key)).toBeUndefined()
  })
})

test('objects of other applications are left, and a blob that is deleted while it is copied is not resurrected', async () => {
  const { server, old, drivers } = await openStores('a bucket to disk')
  server.objects.set('moved/backups/dump.sql', { body: Buffer.from('select 1'), modifiedAt: new Date(), headers: {} })
  const [first = ''] = [...CONTENTS.keys()]
  server.hooks.onRead = async (name) => {
    if (name === `moved/${first}`) await old.delete(first)
  }

  const moved = await moveBlobs(drivers, watch)

  expect(moved).toMatchObject({ copied: CONTENTS.size - 1, skipped: 1, damaged: [] })
  expect(await drivers.to.stat(first)).toBeUndefined()
})
