import { createHash } from 'node:crypto'
import { canonicalRecoveryCode } from './totp.ts'

/** A plain hash is enough for 60 random bits behind a limit of attempts. Hashes are looked up by user. */
export function recoveryHash(code: string) {
  return createHash('sha256').update(canonicalRecoveryCode(code)).digest()
}

/** The context in which the secret of a user's authenticator is sealed. */
export function secretContext(userId: string) {
  return `second-factors/${userId}/secret`
}
