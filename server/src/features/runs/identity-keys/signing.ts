import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import type { Ctx } from '../../../app.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { SealError, type Secrets } from '../../../secrets/secrets.ts'
import { identityKeys } from './key-states.ts'
import { type KeyRow, listIdentityKeys } from './store.ts'

/** The current key cannot be decrypted, so no token can be signed. */
export class UnreadableKeyError extends Error {
  override name = 'UnreadableKeyError'
}

/** Why a job cannot be created, or its token shown, if a key or a sensitive value cannot be decrypted; for the user. */
export function unreadableReason(error: unknown) {
  if (error instanceof UnreadableKeyError) return `${error.message}: a site administrator must rotate the keys`
  if (error instanceof SealError) return `a sensitive value cannot be decrypted: ${error.message}. Set it again`
  return undefined
}

export type SigningKey = { keyId: string; privateKey: KeyObject }

/** Time for which a process signs with a key without looking for a newer one, in ms. */
export const CACHED_MS = 5000
/** By the secrets of the app, which its contexts share. */
const cache = new WeakMap<Secrets, { key: SigningKey; readAt: number }>()

/** The key that signs now, read from the database once in several seconds. Throws `UnreadableKeyError`. */
export async function currentSigningKey(ctx: Pick<Ctx, 'db' | 'secrets' | 'now'>): Promise<SigningKey> {
  const now = ctx.now()
  const cached = cache.get(ctx.secrets)
  if (cached && Math.abs(now.getTime() - cached.readAt) < CACHED_MS) return cached.key
  const { published } = identityKeys(await listIdentityKeys(ctx.db), now)
  const current = published.find(({ state }) => state === 'current')
  if (!current) throw new Error('there is no key that signs identity tokens')
  const key = openKey(ctx, current.row)
  cache.set(ctx.secrets, { key, readAt: now.getTime() })
  return key
}

/** Throws `UnreadableKeyError`. */
export function openKey({ secrets }: Pick<Ctx, 'secrets'>, row: KeyRow): SigningKey {
  try {
    const key = secrets.open(row.private_key, sealContext(row.id))
    return { keyId: row.key_id, privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) }
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause
    throw new UnreadableKeyError(`the key ${row.key_id}, which signs identity tokens, cannot be decrypted`, { cause })
  }
}

export const sealedPrivateKey = sealedColumn(
  'identity_keys.private_key',
  ['id'],
  ({ id }) => `identity-keys/${id}/private-key`,
)

function sealContext(id: string) {
  return sealedPrivateKey.context({ id })
}

/** Services require at least 2048 bits, and longer keys make every signature slower. */
const MODULUS_BITS = 2048

/** A new key in the thread pool, which takes about 0.1 s. */
export async function newKey({ secrets, newId, now }: Pick<Ctx, 'secrets' | 'newId' | 'now'>) {
  const id = newId('idk')
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS })
  const { n = '', e = '', ...rest } = await exportJWK(publicKey)
  return {
    id,
    key_id: await calculateJwkThumbprint({ ...rest, n, e }),
    modulus: n,
    exponent: e,
    private_key: secrets.seal(privateKey.export({ type: 'pkcs8', format: 'der' }), sealContext(id)),
    created_at: now(),
  }
}
