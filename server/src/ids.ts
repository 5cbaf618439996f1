import { randomBytes } from 'node:crypto'

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/**
 * `length` random characters of base 58. Bytes above the last multiple of 58 are dropped, so that all characters are
 * equally likely.
 */
export function randomText(length: number) {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 232 && text.length < length) text += ALPHABET.charAt(byte % 58)
    }
  }
  return text
}

/** A new id of a resource: the prefix of its type and 16 characters, such as `ws-4nX9…`. */
export function newId(prefix: string) {
  return `${prefix}-${randomText(16)}`
}

/** A UUID of version 7 (RFC 9562). It begins with the time, so consecutive rows are neighbours in an index. */
export function timeOrderedUuid(now: Date) {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now.getTime(), 0, 6)
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f)
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
