import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
  type ZstdOptions,
} from 'node:zlib'
import { codeOf } from '../error-code.ts'
import { KEY_ID_BYTES, keyId } from '../secrets/key-id.ts'
import type { SecretSet } from '../secrets/secrets.ts'
import { BlobCorruptError, BlobTooLargeError } from './errors.ts'

/**
 * Format of sealed blobs, version 1: a header, then frames, each of 64 KiB of encoded content except the last.
 *
 * | Bytes | Header |
 * |---|---|
 * | 4 | `GSB` and the version, 1 |
 * | 1 | encoding of the content: 0 none, 1 zstd of a small buffer, 2 zstd of a stream of any length |
 * | 1 | log2 of the frame size |
 * | 4 | id of the secret, which distinguishes a wrong secret from a damaged blob |
 * | 16 | salt |
 *
 * A frame is AES-256-GCM: ciphertext, then a 16-byte tag. Its key is HKDF-SHA256(secret, salt, name of the blob), so a renamed blob does
 * not open. Its nonce is the frame's number and a byte that is 1 only in the last frame (the STREAM construction), so frames cannot be
 * swapped, dropped, repeated or truncated. The header is additional data of every frame.
 */
export const HEADER_BYTES = 26
const MAGIC = Buffer.from('GSB\x01', 'latin1')
/** Offset of the id of the secret in the header. */
export const ID_OFFSET = 6
const FRAME_LOG2 = 16
export const FRAME_BYTES = 1 << FRAME_LOG2
const TAG_BYTES = 16
const SEALED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES

const ENCODINGS = ['plain', 'zstd', 'zstd-stream'] as const
type Encoding = (typeof ENCODINGS)[number]

/** Whether sealed bytes may expand to any length, so they must be opened as a stream. A hint: the header is not verified here. */
export function isStreamed(sealed: Buffer) {
  return ENCODINGS[sealed[4] ?? 0] === 'zstd-stream'
}

/** A key object, since Node would import a buffer again for each use. */
type BlobSecret = { key: KeyObject; id: Buffer }

/** The secret with which blobs are sealed, and all that can open them. */
export type BlobSecrets = { current: BlobSecret; accepted: readonly BlobSecret[] }

export function blobSecrets({ current, previous }: SecretSet): BlobSecrets {
  const accepted = [current, ...previous].map((bytes) => {
    if (bytes.length !== 32) throw new Error(`the secret must be 32 bytes, not ${bytes.length}`)
    return { key: createSecretKey(bytes), id: keyId(bytes) }
  })
  const [first] = accepted
  if (!first) throw new Error('there is no secret')
  return { current: first, accepted }
}

/** The id of the secret that has sealed these bytes; undefined if they are no blob. */
export function blobKeyId(sealed: Buffer): Buffer | undefined {
  return sealed.length >= HEADER_BYTES && sealed.subarray(0, 4).equals(MAGIC) ? idIn(sealed) : undefined
}

function idIn(header: Buffer) {
  return header.subarray(ID_OFFSET, ID_OFFSET + KEY_ID_BYTES)
}

type Cipher = { key: KeyObject; header: Buffer }

function blobCipher(secret: BlobSecret, key: string, header: Buffer): Cipher {
  const salt = header.subarray(HEADER_BYTES - 16)
  const derived = Buffer.from(hkdfSync('sha256', secret.key, salt, `groundstate/blob/${key}`, 32))
  return { key: createSecretKey(derived), header }
}

function frameNonce(number: number, last: boolean) {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(number, 7)
  nonce[11] = last ? 1 : 0
  return nonce
}

function sealFrame(cipher: Cipher, content: Uint8Array, number: number, last: boolean) {
  const gcm = createCipheriv('aes-256-gcm', cipher.key, frameNonce(number, last)).setAAD(cipher.header)
  const sealed = gcm.update(content)
  gcm.final()
  return [sealed, gcm.getAuthTag()]
}

/** Like `Buffer.concat`, but does not copy a single buffer. */
function joined(chunks: Buffer[]) {
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks)
}

/** Seals content chunk by chunk. The sealed bytes are `header`, then the results of `push` and `end`. */
export class FrameWriter {
  readonly header: Buffer
  #cipher: Cipher
  #pending: Buffer[] = []
  #pendingBytes = 0
  #number = 0

  constructor({ current }: BlobSecrets, key: string, encoding: Encoding) {
    const kind = Buffer.from([ENCODINGS.indexOf(encoding), FRAME_LOG2])
    this.header = Buffer.concat([MAGIC, kind, current.id, randomBytes(16)])
    this.#cipher = blobCipher(current, key, this.header)
  }

  push(content: Buffer): Buffer[] {
    this.#pending.push(content)
    this.#pendingBytes += content.length
    // A full frame stays pending: it is the last one unless more content follows.
    if (this.#pendingBytes <= FRAME_BYTES) return []

    const all = joined(this.#pending)
    const sealed: Buffer[] = []
    let offset = 0
    for (; all.length - offset > FRAME_BYTES; offset += FRAME_BYTES) {
      sealed.push(...sealFrame(this.#cipher, all.subarray(offset, offset + FRAME_BYTES), this.#number++, false))
    }
    this.#pending = [all.subarray(offset)]
    this.#pendingBytes = all.length - offset
    return sealed
  }

  end(): Buffer[] {
    return sealFrame(this.#cipher, joined(this.#pending), this.#number, true)
  }
}

/** Opens sealed bytes chunk by chunk. `push` and `end` return only verified content, or throw `BlobCorruptError`. */
export class FrameReader {
  #secrets: BlobSecrets
  #key: string
  #cipher: Cipher | undefined
  #pending: Buffer[] = []
  #pendingBytes = 0
  #number = 0

  constructor(secrets: BlobSecrets, key: string) {
    this.#secrets = secrets
    this.#key = key
  }

  /** Undefined until the header was pushed. */
  get encoding(): Encoding | undefined {
    return this.#cipher && ENCODINGS[this.#cipher.header.readUInt8(4)]
  }

  push(sealed: Buffer): Buffer[] {
    this.#pending.push(sealed)
    this.#pendingBytes += sealed.length
    if (this.#pendingBytes <= (this.#cipher ? SEALED_FRAME_BYTES : HEADER_BYTES)) return []

    const all = joined(this.#pending)
    let offset = 0
    if (!this.#cipher) {
      const header = this.#checkHeader(all)
      this.#cipher = blobCipher(this.#secretOf(header), this.#key, header)
      offset = HEADER_BYTES
    }
    const content: Buffer[] = []
    for (; all.length - offset > SEALED_FRAME_BYTES; offset += SEALED_FRAME_BYTES) {
      content.push(this.#openFrame(this.#cipher, all.subarray(offset, offset + SEALED_FRAME_BYTES), false))
    }
    this.#pending = [all.subarray(offset)]
    this.#pendingBytes = all.length - offset
    return content
  }

  end(): Buffer {
    if (!this.#cipher || this.#pendingBytes < TAG_BYTES) throw new BlobCorruptError(this.#key, 'is truncated')
    return this.#openFrame(this.#cipher, joined(this.#pending), true)
  }

  #openFrame(cipher: Cipher, sealed: Buffer, last: boolean): Buffer {
    const number = this.#number++
    const gcm = createDecipheriv('aes-256-gcm', cipher.key, frameNonce(number, last), { authTagLength: TAG_BYTES })
    gcm.setAAD(cipher.header).setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
    const content = gcm.update(sealed.subarray(0, sealed.length - TAG_BYTES))
    try {
      gcm.final()
    } catch (cause) {
      throw new BlobCorruptError(this.#key, `is damaged or truncated in frame ${number}`, { cause })
    }
    return content
  }

  #checkHeader(sealed: Buffer): Buffer {
    const header = Buffer.from(sealed.subarray(0, HEADER_BYTES))
    if (!header.subarray(0, 4).equals(MAGIC)) throw new BlobCorruptError(this.#key, 'has no header of a known version')
    const isKnown = ENCODINGS[header.readUInt8(4)] !== undefined && header[5] === FRAME_LOG2
    if (!isKnown) throw new BlobCorruptError(this.#key, 'has a damaged header')
    return header
  }

  #secretOf(header: Buffer): BlobSecret {
    const id = idIn(header)
    const secret = this.#secrets.accepted.find((each) => each.id.equals(id))
    if (secret) return secret
    const problem = `is damaged, or sealed with the secret with the id ${id.toString('hex')}, which this server does not have`
    throw new BlobCorruptError(this.#key, problem)
  }
}

/** At level 1, state compresses several times faster than with gzip, and smaller. Large chunks save trips to the thread pool. */
export const ZSTD_OPTIONS: ZstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 512 * 1024 }

/**
 * Compresses and seals content synchronously, so only small content (200 KB take half a ms). Content that does not shrink stays
 * uncompressed.
 */
export function sealBuffer(secrets: BlobSecrets, key: string, content: Buffer, compress = true): Buffer {
  const compressed = compress ? zstdCompressSync(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length }) : content
  const shrank = compressed.length < content.length
  const writer = new FrameWriter(secrets, key, shrank ? 'zstd' : 'plain')
  const frames = writer.push(shrank ? compressed : content)
  return Buffer.concat([writer.header, ...frames, ...writer.end()])
}

/** Opens the output of `sealBuffer` or of a streamed put. Throws `BlobCorruptError`. */
export function unsealBuffer(secrets: BlobSecrets, key: string, sealed: Buffer): Buffer {
  const reader = new FrameReader(secrets, key)
  const content = joined([...reader.push(sealed), reader.end()])
  if (reader.encoding === 'plain') return content
  try {
    return zstdDecompressSync(content)
  } catch (cause) {
    throw new BlobCorruptError(key, 'cannot be decompressed', { cause })
  }
}

/** Maximum size of buffers that are compressed by one call on the thread pool, in bytes. */
export const WHOLE_BYTES = 16 * 1024 * 1024

export async function compressWhole(content: Buffer): Promise<Buffer> {
  return promisify(zstdCompress)(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length })
}

export type WholeOptions = {
  /** Size of the content in bytes, if known: its memory is then allocated once. */
  size?: number
  /** Longer content fails with `BlobTooLargeError`, before it is unpacked whole. */
  maxBytes?: number
}

export async function decompressWhole(key: string, compressed: Buffer, { size = 0, maxBytes }: WholeOptions) {
  // Without spare bytes at the end, zlib would start another round to look for more output.
  const chunkSize = Math.max(ZSTD_OPTIONS.chunkSize ?? 0, Math.min(size, WHOLE_BYTES) + 64)
  const limit = maxBytes === undefined ? {} : { maxOutputLength: maxBytes }
  try {
    return await promisify(zstdDecompress)(compressed, { chunkSize, ...limit })
  } catch (cause) {
    if (maxBytes !== undefined && codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw new BlobTooLargeError(key, maxBytes)
    throw new BlobCorruptError(key, 'cannot be decompressed', { cause })
  }
}

type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>

export async function* sealChunks(writer: FrameWriter, content: Chunks): AsyncGenerator<Buffer, void> {
  yield writer.header
  for await (const chunk of content) yield* writer.push(chunk)
  yield* writer.end()
}

/** Seals a sealed blob with the current secret, without unpacking it. Throws `BlobCorruptError`. */
export function resealBuffer(secrets: BlobSecrets, key: string, sealed: Buffer): Buffer {
  const reader = new FrameReader(secrets, key)
  const content = [...reader.push(sealed), reader.end()]
  const writer = new FrameWriter(secrets, key, reader.encoding ?? 'plain')
  return Buffer.concat([writer.header, ...content.flatMap((chunk) => writer.push(chunk)), ...writer.end()])
}

/** As `resealBuffer`, chunk by chunk. */
export async function* resealChunks(secrets: BlobSecrets, key: string, sealed: Chunks): AsyncGenerator<Buffer, void> {
  const reader = new FrameReader(secrets, key)
  let writer: FrameWriter | undefined
  for await (const content of unsealChunks(reader, sealed)) {
    if (writer === undefined) {
      writer = new FrameWriter(secrets, key, reader.encoding ?? 'plain')
      yield writer.header
    }
    yield* writer.push(content)
  }
  if (writer) yield* writer.end()
}

/** Yields verified, still encoded content; throws `BlobCorruptError`. */
export async function* unsealChunks(reader: FrameReader, sealed: Chunks): AsyncGenerator<Buffer, void> {
  for await (const chunk of sealed) yield* reader.push(chunk)
  yield reader.end()
}
