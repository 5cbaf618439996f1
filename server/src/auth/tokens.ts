import { hash, randomBytes } from 'node:crypto'
import { randomText } from '../ids.ts'

/**
 * The text of a new API token, in the three-part form that clients of the public API know. 14 + 67 characters of base
 * 58 hold far more than 256 bits, so storing a plain SHA-256 of it is safe.
 */
export function newTokenText() {
  return `${randomText(14)}.gsv1.${randomText(67)}`
}

/** The secret of a one-time link, in the URL's fragment, which browsers send to no server: 32 random bytes, base64url. */
export function newLinkSecret() {
  return randomBytes(32).toString('base64url')
}

export function tokenHash(text: string) {
  return hash('sha256', text, 'buffer')
}
