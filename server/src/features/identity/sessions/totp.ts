import { randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
/** Codes of the step before and after are taken too, for clocks that are off and fingers that are slow. */
const WINDOW = 1
const RECOVERY_CODES = 10
/** No letters or digits that are mistaken for one another; 32 of them, so that 12 characters hold 60 bits. */
const RECOVERY_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

export function newTotpSecret() {
  return new Secret({ size: 20 }).base32
}

/** The `otpauth://` address of a secret, which an authenticator reads from a picture. */
export function totpUri(secret: string, username: string) {
  return totp(secret, username).toString()
}

/**
 * The time step whose code `code` is, when that step is above `lastStep`: a code works once. Undefined when the code is
 * wrong, too old or used.
 */
export function acceptedStep(secret: string, code: string, { now, lastStep }: { now: Date; lastStep: number }) {
  const digits = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(digits)) return undefined
  const timestamp = now.getTime()
  const delta = totp(secret, '').validate({ token: digits, timestamp, window: WINDOW })
  if (delta === null) return undefined
  const step = Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta
  return step > lastStep ? step : undefined
}

/** The code of a secret at a moment, as an authenticator shows it. */
export function totpCode(secret: string, now: Date) {
  return totp(secret, '').generate({ timestamp: now.getTime() })
}

function totp(secret: string, label: string) {
  return new TOTP({
    issuer: 'Groundstate',
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  })
}

export function newRecoveryCodes() {
  return Array.from({ length: RECOVERY_CODES }, () =>
    Array.from({ length: 12 }, (_, index) => {
      const letter = RECOVERY_ALPHABET.charAt(randomInt(RECOVERY_ALPHABET.length))
      return index === 4 || index === 8 ? `-${letter}` : letter
    }).join(''),
  )
}

/** A recovery code as it was hashed, whatever case and dashes were typed. */
export function canonicalRecoveryCode(text: string) {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}
