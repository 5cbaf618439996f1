import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** The sealed bytes were changed, belong to another context, or were sealed with another secret. */
export class SealError extends Error {
  override name = 'SealError'
}

export type VerifiedPath = { id: string; expiresAt: Date } | { problem: 'expired' | 'forged' }

/** Encrypts and signs with keys derived from the secret of the installation. */
export type Secrets = ReturnType<typeof createSecrets>

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `secret` has 32 bytes (`loadSecret`). Sealed bytes are version, nonce, ciphertext and tag. */
export function createSecrets(secret: Buffer) {
  if (secret.length !== 32) throw new Error(`the secret must be 32 bytes, not ${secret.length}`)
  // Key objects, since Node would import a buffer at each use, which takes ten times as long.
  const keyOf = (purpose: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `groundstate/${purpose}`, 32)))
  const sealKey = keyOf('seal')
  const signKey = keyOf('sign')
  const additional = (context: string) => Buffer.from(`${VERSION}/${context}`)

  // The length of the purpose separates ('ab', 'c') from ('a', 'bc').
  const mac = (payload: string, purpose: string) =>
    createHmac('sha256', signKey).update(`${purpose.length}/${purpose}/${payload}`).digest()
  const pathMac = (content: string, purpose: string) => mac(content, `path/${purpose}`).subarray(0, 24)

  const open = (sealed: Buffer, context: string): Buffer => {
    if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new SealError(`sealed ${context} is truncated`)
    if (sealed[0] !== VERSION) throw new SealError(`sealed ${context} has the unknown version ${sealed[0]}`)
    const end = sealed.length - TAG_BYTES
    const gcm = createDecipheriv('aes-256-gcm', sealKey, sealed.subarray(1, 1 + NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    gcm.setAAD(additional(context)).setAuthTag(sealed.subarray(end))
    const plain = gcm.update(sealed.subarray(1 + NONCE_BYTES, end))
    try {
      gcm.final()
    } catch (cause) {
      throw new SealError(`sealed ${context} is damaged, or was sealed in another context or with another secret`, {
        cause,
      })
    }
    return plain
  }

  return {
    /** Encrypts for storage. Opening requires the same context, such as `variables/var-abc/value`, so sealed bytes cannot be moved to another row. */
    seal(plain: string | Buffer, context: string) {
      const nonce = randomBytes(NONCE_BYTES)
      const gcm = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(additional(context))
      const sealed = gcm.update(typeof plain === 'string' ? Buffer.from(plain) : plain)
      gcm.final()
      return Buffer.concat([Buffer.from([VERSION]), nonce, sealed, gcm.getAuthTag()])
    },
    /** Throws `SealError`. */
    open,
    /** Throws `SealError`. */
    openText: (sealed: Buffer, context: string) => open(sealed, context).toString(),

    /** HMAC-SHA256 in base64url, 43 characters, valid for one purpose. */
    sign: (payload: string, purpose: string) => mac(payload, purpose).toString('base64url'),
    /** Verifies in constant time. */
    verify: (payload: string, signature: string, purpose: string) => isSignature(signature, mac(payload, purpose)),

    /**
     * A URL path segment that grants access to `id` until `expiresAt` (to the second). It contains the id, the expiry and a signature of 32
     * characters. The id may have letters, digits, `-` and `_`.
     */
    signPath({ purpose, id, expiresAt }: { purpose: string; id: string; expiresAt: Date }) {
      if (!/^[\w-]+$/.test(id)) throw new Error(`${JSON.stringify(id)} does not fit into a path`)
      const content = `${id}.${Math.floor(expiresAt.getTime() / 1000).toString(36)}`
      return `${content}.${pathMac(content, purpose).toString('base64url')}`
    },
    verifyPath(token: string, purpose: string, now: Date): VerifiedPath {
      const [, id, expiry, signature] = /^([\w-]+)\.([0-9a-z]+)\.([\w-]{32})$/.exec(token) ?? []
      if (id === undefined || expiry === undefined || signature === undefined) return { problem: 'forged' }
      if (!isSignature(signature, pathMac(`${id}.${expiry}`, purpose))) return { problem: 'forged' }
      const expiresAt = new Date(Number.parseInt(expiry, 36) * 1000)
      return now < expiresAt ? { id, expiresAt } : { problem: 'expired' }
    },
  }
}

function isSignature(signature: string, expected: Buffer) {
  // Compared as text, since base64url can encode the same bytes in several ways.
  const actualText = Buffer.from(signature)
  const expectedText = Buffer.from(expected.toString('base64url'))
  return actualText.length === expectedText.length && timingSafeEqual(actualText, expectedText)
}
