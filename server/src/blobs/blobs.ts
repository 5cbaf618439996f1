import { pipeline, Readable } from 'node:stream'
import { pipeline as finished } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { BlobStore } from './blob-store.ts'
import { type BlobContent, type BlobInfo, slices, takeHead, Tally } from './content.ts'
import { openDiskDriver } from './disk.ts'
import { type BlobDriver, type KeyPage, SMALL_BYTES, type StoredBlob } from './driver.ts'
import { blobSecret, FrameReader, FrameWriter, isStreamed } from './frames.ts'
import { openS3Driver } from './s3.ts'
import {
  compressWhole,
  decompressWhole,
  sealBuffer,
  sealChunks,
  unsealBuffer,
  unsealChunks,
  WHOLE_BYTES,
  ZSTD_OPTIONS,
} from './seal.ts'

export type BlobsConfig = {
  /** 32 bytes. */
  secret: Buffer
  store: BlobStore
}

export type PutOptions = {
  /** Longer content fails with `BlobTooLargeError`. */
  maxBytes?: number
  /** False for content that is already compressed: archives, plan files. */
  compress?: boolean
  /** The md5 of the content, if the caller knows it; it is then not computed again. */
  md5?: string
}

/**
 * Write-once storage for content, compressed and encrypted at rest. A key is a path of segments made of letters,
 * digits, `.`, `_` and `-`; no segment begins with a dot, and a key has at most 200 characters. A row in the database
 * names the key, and a key is never reused.
 */
export type Blobs = AsyncDisposable & {
  /**
   * Stores content, durably when it resolves. A failed put leaves nothing. Throws `BlobExistsError`,
   * `BlobTooLargeError` and any error of the source stream. A source that was not read to its end stays open, so that
   * the request can still be answered.
   */
  put(key: string, content: BlobContent, options?: PutOptions): Promise<BlobInfo>
  /**
   * The content as a stream, which the caller must consume or destroy. Each byte is verified before it is returned: on
   * damage the promise rejects or the stream fails with `BlobCorruptError`. Throws `BlobNotFoundError`.
   */
  open(key: string): Promise<Readable>
  /** The whole content, verified. Throws as `open` does. It is fastest for a caller that knows its `size`. */
  read(key: string, options?: { size?: number }): Promise<Buffer>
  stat(key: string): Promise<StoredBlob | undefined>
  /** Deleting a missing blob is no error. */
  delete(key: string): Promise<void>
  /** The keys that have the prefix, page by page; a later listing may go on at the `cursor` of a page. For the sweep. */
  list(prefix: string, cursor?: string): AsyncIterable<KeyPage>
  /** Puts blobs from before `before` where many of them find room, until `signal` aborts. Returns how many were moved. */
  settle(before: Date, signal: AbortSignal): Promise<number>
  /**
   * The bytes that `put` would store, for a caller that keeps small content elsewhere, such as in a row. Works on the
   * calling thread: for tens of KB, not for MB.
   */
  sealBuffer(key: string, content: Buffer): Buffer
  /** The content of bytes made by `sealBuffer`. Throws `BlobCorruptError`. */
  unsealBuffer(key: string, sealed: Buffer): Buffer
}

export async function createBlobs(config: BlobsConfig): Promise<Blobs> {
  const { store } = config
  const driver = store.kind === 'disk' ? await openDiskDriver(store.root) : openS3Driver(store)
  return createBlobsOn(driver, config.secret)
}

function createBlobsOn(driver: BlobDriver, secretBytes: Buffer): Blobs {
  const secret = blobSecret(secretBytes)

  const openStored = async (key: string, stored: Buffer | Readable) => {
    const reader = new FrameReader(secret, key)
    const chunks = unsealChunks(reader, Buffer.isBuffer(stored) ? [stored] : stored)
    // The first frame holds the encoding. Reading it now finds most damage before the caller sends headers.
    const first = await chunks.next()
    const content = Readable.from(prepend(first.value ?? Buffer.alloc(0), chunks), { objectMode: false })
    if (!Buffer.isBuffer(stored)) content.once('close', () => stored.destroy())
    if (reader.encoding === 'plain') return content
    // `pipeline` passes errors on to this last stream.
    return pipeline(content, createZstdDecompress({ chunkSize: ZSTD_OPTIONS.chunkSize }), () => {})
  }

  /** Compresses content in memory in one go on the thread pool: a stream of it takes a hundred times as many turns of the loop. */
  const putWhole = async (key: string, content: Buffer, tally: Tally) => {
    tally.add(content)
    const compressed = await compressWhole(content)
    const writer = new FrameWriter(secret, key, 'zstd-stream')
    if (compressed.length > SEALED_WHOLE)
      return tally.info(await driver.write(key, sealChunks(writer, slices(compressed))))
    return tally.info(
      await driver.write(key, Buffer.concat([writer.header, ...writer.push(compressed), ...writer.end()])),
    )
  }

  return {
    async put(key, content, { maxBytes = Number.POSITIVE_INFINITY, compress = true, md5 } = {}) {
      checkKey(key)
      const tally = new Tally(key, maxBytes, md5)
      const isHashed = md5 !== undefined
      if (
        compress &&
        isHashed &&
        Buffer.isBuffer(content) &&
        SMALL_BYTES < content.length &&
        content.length <= WHOLE_BYTES
      )
        return putWhole(key, content, tally)
      const { head, rest, close } = await takeHead(content)
      if (!rest) {
        tally.add(head)
        return tally.info(await driver.write(key, sealBuffer(secret, key, head, compress)))
      }

      try {
        const counted = tally.count(head, rest)
        const writer = new FrameWriter(secret, key, compress ? 'zstd-stream' : 'plain')
        if (!compress) return tally.info(await driver.write(key, sealChunks(writer, counted)))
        let storedSize = 0
        await finished(counted, createZstdCompress(ZSTD_OPTIONS), async (compressed: AsyncIterable<Buffer>) => {
          storedSize = await driver.write(key, sealChunks(writer, compressed))
        })
        return tally.info(storedSize)
      } finally {
        await close()
      }
    },

    async open(key) {
      checkKey(key)
      const stored = await driver.read(key)
      if (!Buffer.isBuffer(stored) || isStreamed(stored)) return openStored(key, stored)
      return Readable.from([unsealBuffer(secret, key, stored)], { objectMode: false })
    },

    async read(key, { size } = {}) {
      checkKey(key)
      const stored = await driver.read(key)
      if (Buffer.isBuffer(stored) && !isStreamed(stored)) return unsealBuffer(secret, key, stored)
      const reader = new FrameReader(secret, key)
      const chunks: Buffer[] = []
      for await (const chunk of unsealChunks(reader, Buffer.isBuffer(stored) ? [stored] : stored)) chunks.push(chunk)
      const encoded = Buffer.concat(chunks)
      return reader.encoding === 'plain' ? encoded : decompressWhole(key, encoded, size)
    },

    async stat(key) {
      checkKey(key)
      return driver.stat(key)
    },

    async delete(key) {
      checkKey(key)
      await driver.delete(key)
    },

    list: (prefix, cursor) => driver.list(prefix, cursor),
    settle: (before, signal) => driver.settle(before, signal),
    sealBuffer: (key, content) => sealBuffer(secret, key, content),
    unsealBuffer: (key, sealed) => unsealBuffer(secret, key, sealed),
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  }
}

/** Compressed content up to this size (bytes) is small for the driver when it is sealed. */
const SEALED_WHOLE = SMALL_BYTES - 4096

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/

function checkKey(key: string) {
  if (key.length > 200 || !KEY.test(key)) throw new Error(`${JSON.stringify(key)} is not a key of a blob`)
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>) {
  yield first
  yield* rest
}
