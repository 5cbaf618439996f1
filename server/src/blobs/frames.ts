import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { BlobCorruptError } from './errors.ts'

/**
 * The sealed format, version 1. A header, then frames; every frame but the last holds 64 KiB of encoded content.
 *
 * | Bytes | Header |
 * |---|---|
 * | 4 | `GSB` and the version, 1 |
 * | 1 | encoding of the content: 0 none, 1 zstd of small content at once, 2 zstd of a stream of any length |
 * | 1 | log2 of the frame size |
 * | 4 | fingerprint of the secret, to tell a wrong secret from a damaged blob |
 * | 16 | salt |
 *
 * A frame is AES-256-GCM: ciphertext, then a 16-byte tag. Its key is HKDF-SHA256(secret, salt, name of the blob), so a
 * blob that is moved to another name does not open. Its nonce is the frame's number and a byte that is 1 only in the last
 * frame (the STREAM construction): frames can't be swapped, dropped, repeated or truncated. The header is additional data of
 * every frame. `FrameReader` returns nothing before its tag is verified.
 */
export const HEADER_BYTES = 26
const MAGIC = Buffer.from('GSB\x01', 'latin1')
const FRAME_LOG2 = 16
export const FRAME_BYTES = 1 << FRAME_LOG2
const TAG_BYTES = 16
const SEALED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES

const ENCODINGS = ['plain', 'zstd', 'zstd-stream'] as const
export type Encoding = (typeof ENCODINGS)[number]

/**
 * Whether sealed bytes must be opened as a stream, since they may expand to any length. Only a hint: the header is not
 * verified here.
 */
export function isStreamed(sealed: Buffer) {
  return ENCODINGS[sealed[4] ?? 0] === 'zstd-stream'
}

/** The server's secret for blobs; a key object, since Node would import a buffer again for each use. */
export type BlobSecret = { key: KeyObject; fingerprint: Buffer }

export function blobSecret(bytes: Buffer): BlobSecret {
  if (bytes.length !== 32) throw new Error(`the secret must be 32 bytes, not ${bytes.length}`)
  return {
    key: createSecretKey(bytes),
    fingerprint: Buffer.from(hkdfSync('sha256', bytes, '', 'groundstate/blob-fingerprint', 4)),
  }
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

/** All of the pieces; a single one is not copied. */
function joined(chunks: Buffer[]) {
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks)
}

/** Seals content piece by piece; the caller writes what `header`, `push` and `end` return, in that order. */
export class FrameWriter {
  readonly header: Buffer
  #cipher: Cipher
  #pending: Buffer[] = []
  #pendingBytes = 0
  #number = 0

  constructor(secret: BlobSecret, key: string, encoding: Encoding) {
    const kind = Buffer.from([ENCODINGS.indexOf(encoding), FRAME_LOG2])
    this.header = Buffer.concat([MAGIC, kind, secret.fingerprint, randomBytes(16)])
    this.#cipher = blobCipher(secret, key, this.header)
  }

  push(content: Buffer): Buffer[] {
    this.#pending.push(content)
    this.#pendingBytes += content.length
    // One full frame is kept back: it is the last one unless more content follows.
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

/** Opens sealed bytes piece by piece. `push` and `end` return verified content, and throw `BlobCorruptError`. */
export class FrameReader {
  #secret: BlobSecret
  #key: string
  #cipher: Cipher | undefined
  #pending: Buffer[] = []
  #pendingBytes = 0
  #number = 0

  constructor(secret: BlobSecret, key: string) {
    this.#secret = secret
    this.#key = key
  }

  /** Known once the header has been pushed. */
  get encoding(): Encoding | undefined {
    return this.#cipher && ENCODINGS[this.#cipher.header.readUInt8(4)]
  }

  push(sealed: Buffer): Buffer[] {
    this.#pending.push(sealed)
    this.#pendingBytes += sealed.length
    const wanted = this.#cipher ? SEALED_FRAME_BYTES : HEADER_BYTES
    if (this.#pendingBytes <= wanted) return []

    const all = joined(this.#pending)
    let offset = 0
    if (!this.#cipher) {
      this.#cipher = blobCipher(this.#secret, this.#key, this.#checkHeader(all))
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
    if (!this.#cipher || this.#pendingBytes < TAG_BYTES) throw new BlobCorruptError(this.#key, 'is cut off')
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
      throw new BlobCorruptError(this.#key, `is damaged or cut off in frame ${number}`, { cause })
    }
    return content
  }

  #checkHeader(sealed: Buffer): Buffer {
    const header = Buffer.from(sealed.subarray(0, HEADER_BYTES))
    if (!header.subarray(0, 4).equals(MAGIC)) throw new BlobCorruptError(this.#key, 'has no header of a known version')
    const known = ENCODINGS[header.readUInt8(4)] !== undefined && header[5] === FRAME_LOG2
    if (!known) throw new BlobCorruptError(this.#key, 'has a damaged header')
    if (!header.subarray(6, 10).equals(this.#secret.fingerprint)) {
      throw new BlobCorruptError(this.#key, 'is sealed with another secret than the one configured, or damaged')
    }
    return header
  }
}
