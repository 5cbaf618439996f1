import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSecrets, SealError } from './secrets.ts'

const secrets = createSecrets(randomBytes(32))

describe('sealing', () => {
  test('text and bytes round-trip', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string({ unit: 'grapheme' }), (bytes, text) => {
        expect(secrets.open(secrets.seal(Buffer.from(bytes), 'c'), 'c')).toEqual(Buffer.from(bytes))
        expect(secrets.openText(secrets.seal(text, 'c'), 'c')).toBe(text)
      }),
    )
  })

  test('a flipped bit or truncation anywhere is detected', () => {
    const sealed = secrets.seal('a sensitive value', 'variables/var-1')
    for (let offset = 0; offset < sealed.length; offset++) {
      const damaged = Buffer.from(sealed)
      damaged.writeUInt8(damaged.readUInt8(offset) ^ 4, offset)

      expect(() => secrets.open(damaged, 'variables/var-1')).toThrow(SealError)
      expect(() => secrets.open(sealed.subarray(0, offset), 'variables/var-1')).toThrow(SealError)
    }
  })

  test('sealed bytes open neither in another context nor with another secret', () => {
    const sealed = secrets.seal('x', 'variables/var-1')

    expect(() => secrets.open(sealed, 'variables/var-2')).toThrow(SealError)
    expect(() => createSecrets(randomBytes(32)).open(sealed, 'variables/var-1')).toThrow(SealError)
  })

  test('the same text never seals to the same bytes', () => {
    expect(secrets.seal('x', 'c').equals(secrets.seal('x', 'c'))).toBe(false)
  })
})

describe('signatures', () => {
  test('a signature is valid only for its payload and purpose', () => {
    const signature = secrets.sign('bc', 'a')

    expect(signature).toMatch(/^[\w-]{43}$/)
    expect(secrets.verify('bc', signature, 'a')).toBe(true)
    expect(secrets.verify('bd', signature, 'a')).toBe(false)
    expect(secrets.verify('c', signature, 'ab')).toBe(false)
    expect(secrets.verify('bc', signature.slice(1), 'a')).toBe(false)
    expect(secrets.verify('bc', '', 'a')).toBe(false)
    expect(createSecrets(randomBytes(32)).verify('bc', signature, 'a')).toBe(false)
  })

  const now = new Date('2026-03-01T12:00:00Z')
  const expiresAt = new Date('2026-03-02T13:00:00Z')
  const token = secrets.signPath({ purpose: 'state-upload', id: 'sv-abc', expiresAt })

  test('a signed path names its object until it expires', () => {
    expect(token).toMatch(/^sv-abc\.[0-9a-z]+\.[\w-]{32}$/)
    expect(secrets.verifyPath(token, 'state-upload', now)).toEqual({ id: 'sv-abc', expiresAt })
    expect(secrets.verifyPath(token, 'state-upload', new Date(expiresAt.getTime() - 1))).toHaveProperty('id')
    expect(secrets.verifyPath(token, 'state-upload', expiresAt)).toEqual({ problem: 'expired' })
  })

  test('a changed path, or one of another purpose, is forged', () => {
    expect(secrets.verifyPath(token, 'state-download', now)).toEqual({ problem: 'forged' })
    for (let offset = 0; offset < token.length; offset++) {
      const changed = token.slice(0, offset) + (token[offset] === 'a' ? 'b' : 'a') + token.slice(offset + 1)
      expect(secrets.verifyPath(changed, 'state-upload', now)).toEqual({ problem: 'forged' })
    }
    for (const other of [
      '',
      'sv-abc',
      `${token}=`,
      ` ${token}`,
      token.slice(0, -1),
      secrets.sign('sv-abc', 'state-upload'),
    ]) {
      expect(secrets.verifyPath(other, 'state-upload', now)).toEqual({ problem: 'forged' })
    }
  })

  test('an id that does not fit into a path is rejected', () => {
    expect(() => secrets.signPath({ purpose: 'p', id: 'a/b', expiresAt })).toThrow('"a/b" does not fit into a path')
  })
})

test('a secret of another length is rejected', () => {
  expect(() => createSecrets(randomBytes(31))).toThrow('the secret must be 32 bytes, not 31')
})
