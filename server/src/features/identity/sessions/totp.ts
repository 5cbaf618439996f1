import { randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
/** Steps accepted before and after the current one, for inexact clocks and slow typing. */
const WINDOW = 1
const RECOVERY_CODES = 10
/** 32 unambiguous letters and digits: 12 characters hold 60 bits. */
const RECOVERY_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

export function newTotpSecret() {
  return new Secret({ size: 20 }).base32
}

export function totpUri(secret: string, username: string) {
  return totp(secret, username).toString()
}

/** The time step of `code`, above `lastStep` so that a code works once; undefined for a wrong, outdated or used code. */
export function acceptedStep(secret: string, code: string, { now, lastStep }: { now: Date; lastStep: number }) {
  const digits = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(digits)) return undefined
  const timestamp = now.getTime()
  const delta = totp(secret, '').validate({ token: digits, timestamp, window: WINDOW })
  if (delta === null) return undefined
  const step = Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta
  return step > lastStep ? step : undefined
}

/** The current code, as an authenticator shows it. */
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

/** The form of a recovery code for hashing: lower case, without dashes and spaces. */
export function canonicalRecoveryCode(text: string) {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}
