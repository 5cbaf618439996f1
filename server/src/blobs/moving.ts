import type { Readable } from 'node:stream'
import { forEachConcurrently } from '../concurrency-limit.ts'
import { messageOf } from '../error-code.ts'
import type { BlobStore } from './blob-store.ts'
import { prepend } from './content.ts'
import { openDiskDriver } from './disk.ts'
import type { BlobDriver } from './driver.ts'
import { BlobCorruptError, BlobExistsError, BlobNotFoundError } from './errors.ts'
import { type BlobSecrets, FrameReader, HEADER_BYTES } from './frames.ts'
import { openS3Driver } from './s3.ts'

export async function openDriver(store: BlobStore): Promise<BlobDriver> {
  return store.kind === 'disk' ? openDiskDriver(store.root) : openS3Driver(store)
}

/** Blobs that are being moved: written to `to`, and read from `from` if they are not there yet. */
export function movingDriver(to: BlobDriver, from: BlobDriver): BlobDriver {
  return {
    async write(key, sealed) {
      if (await from.stat(key)) throw new BlobExistsError(key)
      return to.write(key, sealed)
    },
    async read(key) {
      try {
        return await to.read(key)
      } catch (error) {
        if (!(error instanceof BlobNotFoundError)) throw error
        return from.read(key)
      }
    },
    readHead: async (key, bytes) => (await to.readHead(key, bytes)) ?? from.readHead(key, bytes),
    replace: to.replace,
    stat: async (key) => (await to.stat(key)) ?? from.stat(key),
    async delete(key) {
      // In this order: `moveBlobs` checks after a copy whether the original still exists.
      await from.delete(key)
      await to.delete(key)
    },
    list: to.list,
    settle: to.settle,
    async [Symbol.asyncDispose]() {
      await to[Symbol.asyncDispose]()
      await from[Symbol.asyncDispose]()
    },
  }
}

/** Blobs copied at the same time. A large one takes up to 48 MB of memory on its way to a bucket. */
const CONCURRENCY = 8

/** `present` were in the target already. `skipped` are objects of other applications. `damaged` describes blobs whose content cannot be opened. */
export type Moved = { copied: number; present: number; skipped: number; damaged: string[] }

type Move = { from: BlobDriver; to: BlobDriver; secrets: BlobSecrets }
type Watch = { add: (bytes: number) => void; signal: AbortSignal }

/**
 * Copies the blobs that `to` does not have yet, each verified with the secret, while servers may write to either store. It may be interrupted and
 * repeated at any time. A blob that is deleted meanwhile is not resurrected.
 */
export async function moveBlobs({ from, to, secrets }: Move, watch: Watch): Promise<Moved> {
  const moved: Moved = { copied: 0, present: 0, skipped: 0, damaged: [] }

  const copy = async (key: string) => {
    watch.signal.throwIfAborted()
    const original = await from.stat(key)
    if (!original) return
    const copied = await to.stat(key)
    if (copied && copied.storedSize !== original.storedSize)
      throw new BlobCorruptError(key, 'has another size in the new store')
    if (copied && (await isCurrent(key))) return void (moved.present += 1)
    const stored = await from.read(key)
    const kind = await kindOf(stored)
    if (kind === undefined) return void (moved.skipped += 1)
    const sealed = verified(new FrameReader(secrets, key), kind)
    const content = Buffer.isBuffer(stored) ? await whole(sealed) : sealed
    if (copied) await to.replace(key, content)
    else await to.write(key, content)
    watch.add(original.storedSize)
    moved.copied += 1
    if (!(await from.stat(key))) await to.delete(key)
  }

  /** Whether the copy is sealed with the same secret as the original: a rotation since the copy changes no size. */
  const isCurrent = async (key: string) => {
    const [original, copy] = await Promise.all([from, to].map(async (store) => store.readHead(key, HEADER_BYTES)))
    return original !== undefined && copy?.equals(original) === true
  }

  for await (const { keys } of from.list('')) {
    const blobs = keys.filter((key) => key.includes('/'))
    await forEachConcurrently(blobs, CONCURRENCY, async (key) =>
      copy(key).catch((error: unknown) => {
        if (error instanceof BlobNotFoundError) return
        // Another process copied it first.
        if (error instanceof BlobExistsError) return void (moved.present += 1)
        if (!(error instanceof BlobCorruptError)) throw error
        moved.damaged.push(messageOf(error))
      }),
    )
  }
  return moved
}

/** First bytes of every blob: `GSB` and the version. */
const MAGIC = Buffer.from('GSB')

/** The chunks of stored bytes; undefined for those that are no blob. */
async function kindOf(stored: Buffer | Readable): Promise<AsyncIterable<Buffer> | undefined> {
  if (Buffer.isBuffer(stored)) return stored.subarray(0, MAGIC.length).equals(MAGIC) ? single(stored) : undefined
  const iterator = (stored as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done !== true && first.value.subarray(0, MAGIC.length).equals(MAGIC)) return prepend(first.value, iterator)
  stored.destroy()
  return undefined
}

async function* single(chunk: Buffer) {
  yield chunk
}

/** Passes sealed bytes on unchanged; throws `BlobCorruptError` before the end of damaged ones. */
async function* verified(reader: FrameReader, sealed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let last: Buffer | undefined
  for await (const chunk of sealed) {
    reader.push(chunk)
    if (last) yield last
    last = chunk
  }
  reader.end()
  if (last) yield last
}

async function whole(chunks: AsyncIterable<Buffer>) {
  const found: Buffer[] = []
  for await (const chunk of chunks) found.push(chunk)
  return Buffer.concat(found)
}
