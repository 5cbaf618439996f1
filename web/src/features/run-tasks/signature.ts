import { hmac } from '@noble/hashes/hmac.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/**
 * The value of `X-TFC-Task-Signature`: HMAC-SHA512 of the body as lower-case hex digits. Not by Web Crypto, which browsers
 * have on pages with TLS only.
 */
export function signatureOf(body: string, key: string) {
  return bytesToHex(hmac(sha512, utf8ToBytes(key), utf8ToBytes(body)))
}

/** The signature in a pasted header, with or without its name. */
export function pastedSignature(text: string) {
  return text
    .replace(/^\s*x-(?:tfc|svc)-task-signature\s*:/i, '')
    .trim()
    .toLowerCase()
}
