import { pipeline, Readable } from 'node:stream'
import { pipeline as finished } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { BlobStore } from './blob-store.ts'
import { type BlobContent, type BlobInfo, prepend, slices, takeHead, Tally } from './content.ts'
import { SMALL_BYTES } from './driver.ts'
import { BlobNotFoundError } from './errors.ts'
import {
  blobKeyId,
  blobSecrets,
  compressWhole,
  decompressWhole,
  FrameReader,
  FrameWriter,
  HEADER_BYTES,
  isStreamed,
  resealBuffer,
  resealChunks,
  sealBuffer,
  sealChunks,
  unsealBuffer,
  unsealChunks,
  WHOLE_BYTES,
  type WholeOptions,
  ZSTD_OPTIONS,
} from './frames.ts'
import { countReads, measureDriver } from './measure.ts'
import { movingDriver, openDriver } from './moving.ts'

type PutOptions = {
  /** Longer content fails with `BlobTooLargeError`. */
  maxBytes?: number
  /** False for content that is already compressed: archives, plan files. */
  compress?: boolean
  /** MD5 of the content, if known; it is then not computed again. */
  md5?: string
}

/** `secret` seals, and all of them open; each has 32 bytes. */
type BlobSettings = {
  store: BlobStore
  movedFrom?: BlobStore | undefined
  secret: Buffer
  previousSecrets?: readonly Buffer[]
}

export type Blobs = Awaited<ReturnType<typeof createBlobs>>

/**
 * Write-once storage for content, compressed and encrypted at rest. A key is a path of up to 200 characters: segments of letters, digits,
 * `.`, `_` and `-` that do not begin with a dot. A database row names the key, and a key is never reused.
 * With `movedFrom`, blobs that are not in `store` yet are read from there.
 */
export async function createBlobs({ store, movedFrom, secret, previousSecrets = [] }: BlobSettings) {
  const target = await openDriver(store)
  const driver = measureDriver(movedFrom ? movingDriver(target, await openDriver(movedFrom)) : target)
  const secrets = blobSecrets({ current: secret, previous: previousSecrets })

  const openStored = async (key: string, stored: Buffer | Readable) => {
    const reader = new FrameReader(secrets, key)
    const chunks = unsealChunks(reader, countReads(stored))
    // The header has the encoding. Reading the first frame now detects most damage before the caller sends response headers.
    const first = await chunks.next()
    const content = Readable.from(prepend(first.value ?? Buffer.alloc(0), chunks), { objectMode: false })
    if (!Buffer.isBuffer(stored)) content.once('close', () => stored.destroy())
    if (reader.encoding === 'plain') return content
    // `pipeline` forwards errors to the last stream.
    return pipeline(content, createZstdDecompress({ chunkSize: ZSTD_OPTIONS.chunkSize }), () => {})
  }

  /** Compresses a buffer in one call on the thread pool; as a stream it would take a hundred times as many turns of the event loop. */
  const putWhole = async (key: string, content: Buffer, tally: Tally) => {
    tally.add(content)
    const compressed = await compressWhole(content)
    const writer = new FrameWriter(secrets, key, 'zstd-stream')
    const sealed =
      compressed.length > MAX_SMALL_COMPRESSED
        ? sealChunks(writer, slices(compressed))
        : Buffer.concat([writer.header, ...writer.push(compressed), ...writer.end()])
    return tally.info(await driver.write(key, sealed))
  }

  return {
    /**
     * Stores content durably, or nothing. Throws `BlobExistsError`, `BlobTooLargeError` and any error of the source stream. A
     * partly read source stays open, so that the request can still be responded to.
     */
    async put(key: string, content: BlobContent, options: PutOptions = {}): Promise<BlobInfo> {
      const { maxBytes = Number.POSITIVE_INFINITY, compress = true, md5 } = options
      checkKey(key)
      const tally = new Tally(key, maxBytes, md5)
      if (compress && md5 !== undefined && Buffer.isBuffer(content)) {
        if (SMALL_BYTES < content.length && content.length <= WHOLE_BYTES) return putWhole(key, content, tally)
      }
      const { head, rest, close } = await takeHead(content)
      if (!rest) {
        tally.add(head)
        return tally.info(await driver.write(key, sealBuffer(secrets, key, head, compress)))
      }

      try {
        const counted = tally.count(head, rest)
        const writer = new FrameWriter(secrets, key, compress ? 'zstd-stream' : 'plain')
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

    /**
     * The content as a stream, which the caller must consume or destroy. Each byte is verified first: on damage the promise rejects or the
     * stream fails with `BlobCorruptError`. Throws `BlobNotFoundError`.
     */
    async open(key: string): Promise<Readable> {
      checkKey(key)
      const stored = await driver.read(key)
      if (!Buffer.isBuffer(stored) || isStreamed(stored)) return openStored(key, stored)
      return Readable.from([unsealBuffer(secrets, key, stored)], { objectMode: false })
    },

    /** The whole content, verified. Throws as `open` does. Fastest if `size` is known. */
    async read(key: string, options: WholeOptions = {}): Promise<Buffer> {
      checkKey(key)
      const stored = await driver.read(key)
      if (Buffer.isBuffer(stored) && !isStreamed(stored)) return unsealBuffer(secrets, key, stored)
      const reader = new FrameReader(secrets, key)
      const chunks: Buffer[] = []
      for await (const chunk of unsealChunks(reader, countReads(stored))) chunks.push(chunk)
      const encoded = Buffer.concat(chunks)
      return reader.encoding === 'plain' ? encoded : decompressWhole(key, encoded, options)
    },

    async stat(key: string) {
      checkKey(key)
      return driver.stat(key)
    },

    async delete(key: string) {
      checkKey(key)
      await driver.delete(key)
    },

    /**
     * Seals a blob with the current secret, unless it is already; `missing` if it was deleted, `foreign` if it is sealed with a secret that this
     * process does not have, or is no blob. Throws `BlobCorruptError` for a damaged one, which stays as it is.
     */
    async reseal(key: string): Promise<'current' | 'resealed' | 'missing' | 'foreign'> {
      const head = await driver.readHead(key, HEADER_BYTES)
      if (head === undefined) return 'missing'
      const id = blobKeyId(head)
      if (id?.equals(secrets.current.id) === true) return 'current'
      if (id === undefined || !secrets.accepted.some((accepted) => accepted.id.equals(id))) return 'foreign'
      try {
        const stored = await driver.read(key)
        await driver.replace(
          key,
          Buffer.isBuffer(stored) ? resealBuffer(secrets, key, stored) : resealChunks(secrets, key, stored),
        )
      } catch (error) {
        if (error instanceof BlobNotFoundError) return 'missing'
        throw error
      }
      return 'resealed'
    },

    list: driver.list,
    settle: driver.settle,
    /** Seals tens of KB, synchronously, for a caller that stores them elsewhere, such as in a row. */
    sealBuffer: (key: string, content: Buffer) => sealBuffer(secrets, key, content),
    /** Seals the result of `sealBuffer` with the current secret. Throws `BlobCorruptError`. */
    resealBuffer: (key: string, sealed: Buffer) => resealBuffer(secrets, key, sealed),
    /** Opens the result of `sealBuffer`. Throws `BlobCorruptError`. */
    unsealBuffer: (key: string, sealed: Buffer) => unsealBuffer(secrets, key, sealed),
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  }
}

/** Compressed content up to this size is at most `SMALL_BYTES` when sealed, in bytes. */
const MAX_SMALL_COMPRESSED = SMALL_BYTES - 4096

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/

function checkKey(key: string) {
  if (key.length > 200 || !KEY.test(key)) throw new Error(`invalid blob key ${JSON.stringify(key)}`)
}
