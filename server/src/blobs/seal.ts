import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
  type ZstdOptions,
} from 'node:zlib'
import { BlobCorruptError } from './errors.ts'
import { type BlobSecret, FrameReader, FrameWriter } from './frames.ts'

/**
 * At level 1, state compresses several times faster than with gzip, and smaller. Large chunks save trips to the thread
 * pool.
 */
export const ZSTD_OPTIONS: ZstdOptions = {
  params: { [constants.ZSTD_c_compressionLevel]: 1 },
  chunkSize: 512 * 1024,
}

/**
 * Compresses and seals content at once, on the calling thread: for small content only (200 KB take half a ms). Content
 * that does not shrink is stored uncompressed.
 */
export function sealBuffer(secret: BlobSecret, key: string, content: Buffer, compress = true): Buffer {
  const compressed = compress ? zstdCompressSync(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length }) : content
  const shrank = compressed.length < content.length
  const writer = new FrameWriter(secret, key, shrank ? 'zstd' : 'plain')
  const frames = writer.push(shrank ? compressed : content)
  return Buffer.concat([writer.header, ...frames, ...writer.end()])
}

/** Opens the output of `sealBuffer` or of a streamed put. Throws `BlobCorruptError`. */
export function unsealBuffer(secret: BlobSecret, key: string, sealed: Buffer): Buffer {
  const reader = new FrameReader(secret, key)
  const content = reader.push(sealed)
  content.push(reader.end())
  const [first] = content
  const whole = content.length === 1 && first ? first : Buffer.concat(content)
  return reader.encoding === 'plain' ? whole : decompress(key, whole)
}

function decompress(key: string, compressed: Buffer) {
  try {
    return zstdDecompressSync(compressed)
  } catch (cause) {
    throw new BlobCorruptError(key, 'cannot be decompressed', { cause })
  }
}

/** Up to this size (bytes) content in memory is compressed and decompressed in one go, on the thread pool. */
export const WHOLE_BYTES = 16 * 1024 * 1024

export async function compressWhole(content: Buffer): Promise<Buffer> {
  return promisify(zstdCompress)(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length })
}

/** `size` is that of the content (bytes), if it is known: the memory for it is taken once then, and nothing is joined. */
export async function decompressWhole(key: string, compressed: Buffer, size = 0): Promise<Buffer> {
  // Without a spare byte at the end, another turn would look whether there is more.
  const chunkSize = Math.max(ZSTD_OPTIONS.chunkSize ?? 0, Math.min(size, WHOLE_BYTES) + 64)
  try {
    return await promisify(zstdDecompress)(compressed, { chunkSize })
  } catch (cause) {
    throw new BlobCorruptError(key, 'cannot be decompressed', { cause })
  }
}

/** Turns encoded content into sealed bytes. */
export async function* sealChunks(
  writer: FrameWriter,
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  yield writer.header
  for await (const chunk of content) yield* writer.push(chunk)
  yield* writer.end()
}

/** Turns sealed bytes into verified encoded content; throws `BlobCorruptError` when frames are missing. */
export async function* unsealChunks(
  reader: FrameReader,
  sealed: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of sealed) yield* reader.push(chunk)
  yield reader.end()
}
