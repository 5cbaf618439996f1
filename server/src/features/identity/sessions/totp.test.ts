import { expect, test } from 'vitest'
import { acceptedStep, canonicalRecoveryCode, newRecoveryCodes, newTotpSecret, totpCode, totpUri } from './totp.ts'

const SECRET = 'JBSWY3DPEHPK3PXP'
const now = new Date('2026-01-01T00:00:15Z')
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000)

test('the test vector of RFC 6238 is accepted', () => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

  expect(totpCode(secret, new Date(59_000))).toBe('287082')
  expect(acceptedStep(secret, '287082', { now: new Date(59_000), lastStep: 0 })).toBe(1)
})

test('a code is accepted one step early and late, and no more', () => {
  const taken = [-60, -30, 0, 30, 60].map(
    (seconds) => acceptedStep(SECRET, totpCode(SECRET, at(seconds)), { now, lastStep: 0 }) !== undefined,
  )

  expect(taken).toEqual([false, true, true, true, false])
})

test('a code of a used or earlier step is rejected', () => {
  const step = acceptedStep(SECRET, totpCode(SECRET, now), { now, lastStep: 0 }) ?? 0

  expect(acceptedStep(SECRET, totpCode(SECRET, now), { now, lastStep: step })).toBeUndefined()
  expect(acceptedStep(SECRET, totpCode(SECRET, at(-30)), { now, lastStep: step })).toBeUndefined()
  expect(acceptedStep(SECRET, totpCode(SECRET, at(30)), { now, lastStep: step })).toBe(step + 1)
})

test.each(['', '12345', '1234567', 'abcdef', '１２３４５６'])('%j is not a code', (text) => {
  expect(acceptedStep(SECRET, text, { now, lastStep: 0 })).toBeUndefined()
})

test('the otpauth URI contains the product and the account', () => {
  expect(totpUri(SECRET, 'ada')).toMatch(/^otpauth:\/\/totp\/Groundstate:ada\?.*secret=JBSWY3DPEHPK3PXP/)
  expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/)
})

test('recovery codes differ, and tolerate spaces, dashes and case', () => {
  const codes = newRecoveryCodes()

  expect(new Set(codes).size).toBe(10)
  expect(codes[0]).toMatch(/^[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4}$/)
  expect(canonicalRecoveryCode(' ABCD efgh-2345 ')).toBe('abcdefgh2345')
})
