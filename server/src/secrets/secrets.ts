import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { KEY_ID_BYTES, keyId } from './key-id.ts'
import type { SealContext } from './sealed.ts'

/** The sealed bytes were changed, belong to another context, or were sealed with another secret. */
export class SealError extends Error {
  override name = 'SealError'
}

export type VerifiedPath = { id: string; expiresAt: Date } | { problem: 'expired' | 'forged' }

/** Encrypts and signs with keys derived from the secret of the installation. */
export type Secrets = ReturnType<typeof createSecrets>

/** The secret that seals and signs, and further ones that are only accepted, of 32 bytes each (`loadSecrets`). */
export type SecretSet = { current: Buffer; previous: readonly Buffer[] }

/** Sealed bytes are version, id of the secret, nonce, ciphertext and tag. */
const VERSION = 2
/** As `VERSION`, without the id. */
const VERSION_WITHOUT_ID = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES

type Keys = { id: number; header: Buffer; seal: KeyObject; sign: KeyObject }

function keysOf(secret: Buffer): Keys {
  if (secret.length !== 32) throw new Error(`the secret must be 32 bytes, not ${secret.length}`)
  const id = keyId(secret)
  return {
    id: id.readUInt32BE(),
    header: Buffer.concat([Buffer.from([VERSION]), id]),
    seal: createSecretKey(derived(secret, 'seal')),
    sign: createSecretKey(derived(secret, 'sign')),
  }
}

function derived(secret: Buffer, purpose: string) {
  return Buffer.from(hkdfSync('sha256', secret, '', `groundstate/${purpose}`, 32))
}

/** The key of the digests of an installation that was created with this secret. */
export function digestKeyOf(secret: Buffer): Buffer {
  return derived(secret, 'sign')
}

/** The first bytes of everything that the secret seals. */
export function sealedPrefix(secret: Buffer): Buffer {
  return keysOf(secret).header
}

/** Key objects, since Node would import a buffer at each use, which takes ten times as long. */
export function createSecrets({ current, previous }: SecretSet, digestKey: Buffer = digestKeyOf(current)) {
  const keys = keysOf(current)
  const accepted = [keys, ...previous.map(keysOf)]
  const digestKeyObject = createSecretKey(digestKey)

  // The length of the purpose separates ('ab', 'c') from ('a', 'bc').
  const mac = (payload: string, purpose: string, key: KeyObject) =>
    createHmac('sha256', key).update(`${purpose.length}/${purpose}/${payload}`).digest()
  const pathMac = (content: string, purpose: string, key: KeyObject) =>
    mac(content, `path/${purpose}`, key).subarray(0, 24)

  const open = (sealed: Buffer, context: SealContext): Buffer => {
    if (sealed[0] === VERSION_WITHOUT_ID) return openWithoutId(sealed, context)
    if (sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES) throw new SealError(`sealed ${context} is truncated`)
    if (sealed[0] !== VERSION) throw new SealError(`sealed ${context} has the unknown version ${sealed[0]}`)
    const id = sealed.readUInt32BE(1)
    const key = keys.id === id ? keys : accepted.find((other) => other.id === id)
    if (!key) {
      throw new SealError(
        `sealed ${context} is damaged, or needs the secret with the id ${sealed.toString('hex', 1, HEADER_BYTES)}, which this server does not have`,
      )
    }
    const plain = decrypted(key.seal, sealed, { offset: HEADER_BYTES, additional: `${VERSION}/${context}` })
    if (plain instanceof Error)
      throw new SealError(`sealed ${context} is damaged, or was sealed in another context`, { cause: plain })
    return plain
  }

  const openWithoutId = (sealed: Buffer, context: string): Buffer => {
    if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new SealError(`sealed ${context} is truncated`)
    let cause: unknown
    for (const { seal } of accepted) {
      const plain = decrypted(seal, sealed, { offset: 1, additional: `${VERSION_WITHOUT_ID}/${context}` })
      if (!(plain instanceof Error)) return plain
      cause = plain
    }
    throw new SealError(`sealed ${context} is damaged, or was sealed in another context or with another secret`, {
      cause,
    })
  }

  return {
    /** Encrypts for storage. Opening requires the same context, so sealed bytes cannot be moved to another row. */
    seal(plain: string | Buffer, context: SealContext) {
      const nonce = randomBytes(NONCE_BYTES)
      const gcm = createCipheriv('aes-256-gcm', keys.seal, nonce).setAAD(Buffer.from(`${VERSION}/${context}`))
      const sealed = gcm.update(typeof plain === 'string' ? Buffer.from(plain) : plain)
      gcm.final()
      return Buffer.concat([keys.header, nonce, sealed, gcm.getAuthTag()])
    },
    /** Throws `SealError`. */
    open,
    /** Throws `SealError`. */
    openText: (sealed: Buffer, context: SealContext) => open(sealed, context).toString(),
    /** Whether bytes were sealed with the current secret. */
    isCurrent: (sealed: Buffer) => sealed.subarray(0, HEADER_BYTES).equals(keys.header),

    /** HMAC-SHA256 in base64url, 43 characters, valid for one purpose. */
    sign: (payload: string, purpose: string) => mac(payload, purpose, keys.sign).toString('base64url'),
    /** Verifies in constant time. Signatures of previous secrets are valid. */
    verify: (payload: string, signature: string, purpose: string) =>
      accepted.some(({ sign }) => isSignature(signature, mac(payload, purpose, sign))),
    /** As `sign`, to be stored and compared, or to serve as a key: it stays the same when the secret is replaced. */
    digest: (payload: string, purpose: string) => mac(payload, purpose, digestKeyObject).toString('base64url'),

    /**
     * A URL path segment that grants access to `id` until `expiresAt` (to the second). It contains the id, the expiry and a signature of 32
     * characters. The id may have letters, digits, `-` and `_`.
     */
    signPath({ purpose, id, expiresAt }: { purpose: string; id: string; expiresAt: Date }) {
      if (!/^[\w-]+$/.test(id)) throw new Error(`${JSON.stringify(id)} does not fit into a path`)
      const content = `${id}.${Math.floor(expiresAt.getTime() / 1000).toString(36)}`
      return `${content}.${pathMac(content, purpose, keys.sign).toString('base64url')}`
    },
    verifyPath(token: string, purpose: string, now: Date): VerifiedPath {
      const [, id, expiry, signature] = /^([\w-]+)\.([0-9a-z]+)\.([\w-]{32})$/.exec(token) ?? []
      if (id === undefined || expiry === undefined || signature === undefined) return { problem: 'forged' }
      const isValid = accepted.some(({ sign }) => isSignature(signature, pathMac(`${id}.${expiry}`, purpose, sign)))
      if (!isValid) return { problem: 'forged' }
      const expiresAt = new Date(Number.parseInt(expiry, 36) * 1000)
      return now < expiresAt ? { id, expiresAt } : { problem: 'expired' }
    },
  }
}

/** The plain bytes after nonce and before tag, or the error of the cipher. */
function decrypted(key: KeyObject, sealed: Buffer, { offset, additional }: { offset: number; additional: string }) {
  const end = sealed.length - TAG_BYTES
  const nonce = sealed.subarray(offset, offset + NONCE_BYTES)
  const gcm = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  gcm.setAAD(Buffer.from(additional)).setAuthTag(sealed.subarray(end))
  const plain = gcm.update(sealed.subarray(offset + NONCE_BYTES, end))
  try {
    gcm.final()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
  return plain
}

function isSignature(signature: string, expected: Buffer) {
  // Compared as text, since base64url can encode the same bytes in several ways.
  const actualText = Buffer.from(signature)
  const expectedText = Buffer.from(expected.toString('base64url'))
  return actualText.length === expectedText.length && timingSafeEqual(actualText, expectedText)
}
