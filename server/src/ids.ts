import { randomBytes } from 'node:crypto'

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/**
 * `length` characters of base 58 from the system's generator. Bytes past the last whole multiple of 58 are thrown away,
 * so that every character is as likely as another.
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

/** A new id of a resource: the interface's prefix and 16 characters, such as `ws-4nX9…`. */
export function newId(prefix: string) {
  return `${prefix}-${randomText(16)}`
}
