import { randomFillSync, randomUUID } from 'node:crypto'

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Buffered random bytes, since a call for a few takes as long as one for thousands. */
const pool = Buffer.allocUnsafe(4096)
let used = pool.length

function randomByte() {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const byte = pool.readUInt8(used)
  // Bytes of tokens must not stay in memory.
  pool[used] = 0
  used += 1
  return byte
}

/** `length` random base 58 characters. Bytes above the last multiple of 58 are dropped, so that all characters are equally likely. */
export function randomText(length: number) {
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    if (byte < 232) text += ALPHABET.charAt(byte % 58)
  }
  return text
}

/** A new resource id: the prefix of the type and 16 characters, such as `ws-4nX9…`. */
export function newId(prefix: string) {
  return `${prefix}-${randomText(16)}`
}

/** A UUID of version 7 (RFC 9562), which begins with the time, so consecutive rows are adjacent in an index. */
export function timeOrderedUuid(now: Date) {
  const time = now.getTime().toString(16).padStart(12, '0')
  // Version 4 differs only in the bits of time and version, and Node.js caches random bits for it.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
