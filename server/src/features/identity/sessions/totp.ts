import { randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
/** Codes of the step before and after are accepted too, for inexact clocks and slow typing. */
const WINDOW = 1
const RECOVERY_CODES = 10
/** 32 letters and digits that are not mistaken for one another, so that 12 characters hold 60 bits. */
const RECOVERY_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

export function newTotpSecret() {
  return new Secret({ size: 20 }).base32
}

/** The `otpauth://` address of a secret, for the QR code that an authenticator reads. */
export function totpUri(secret: string, username: string) {
  return totp(secret, username).toString()
}

/**
 * The time step that `code` belongs to. It must be above `lastStep`, so that a code works once. Undefined when the code
 * is wrong, too old or used.
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

/** The code that an authenticator shows at a moment. */
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

/** The form of a recovery code that is hashed: lower case, without dashes and spaces. */
export function canonicalRecoveryCode(text: string) {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}
