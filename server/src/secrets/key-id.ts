import { hkdfSync } from 'node:crypto'

export const KEY_ID_BYTES = 4

/** Id of a secret in everything that it seals. It reveals nothing about the secret. */
export function keyId(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'groundstate/blob-fingerprint', KEY_ID_BYTES))
}

/** The id of a secret in messages: 8 hex digits. */
export function shownKeyId(secret: Buffer): string {
  return keyId(secret).toString('hex')
}
