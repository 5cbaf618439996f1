import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a password is verified by its hash, and no other is', async () => {
  const hash = await hashPassword('correct horse')

  expect(hash).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w-]{22}\$[\w-]{43}$/)
  expect(await verifyPassword('correct horse', hash)).toBe(true)
  expect(await verifyPassword('correct horsf', hash)).toBe(false)
})

test('accents may be typed composed or not', async () => {
  expect(await verifyPassword('caf\u0065\u0301', await hashPassword('caf\u00e9'))).toBe(true)
})

test('a password is verified with the parameters stored in the hash', async () => {
  // RFC 7914 §12: P="pleaseletmein", S="SodiumChloride", N=16384, r=8, p=1; the first 32 bytes.
  const salt = Buffer.from('SodiumChloride').toString('base64url')
  const hash = Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex').toString(
    'base64url',
  )

  expect(await verifyPassword('pleaseletmein', `$scrypt$ln=14,r=8,p=1$${salt}$${hash}`)).toBe(true)
})

test('a missing or invalid hash matches no password', async () => {
  for (const stored of [undefined, '', 'plain', '$scrypt$ln=15,r=8,p=3$$']) {
    expect(await verifyPassword('', stored)).toBe(false)
  }
})
