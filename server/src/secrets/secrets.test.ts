import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shownKeyId } from './key-id.ts'
import { shortLivedContext } from './sealed.ts'
import { createSecrets, digestKeyOf, SealError } from './secrets.ts'

const secrets = newSecrets()
const c = shortLivedContext('c')
const [first, second] = [shortLivedContext('variables/var-1'), shortLivedContext('variables/var-2')]

function newSecrets() {
  return createSecrets({ current: randomBytes(32), previous: [] })
}

describe('sealing', () => {
  test('text and bytes round-trip', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string({ unit: 'grapheme' }), (bytes, text) => {
        expect(secrets.open(secrets.seal(Buffer.from(bytes), c), c)).toEqual(Buffer.from(bytes))
        expect(secrets.openText(secrets.seal(text, c), c)).toBe(text)
      }),
    )
  })

  test('a flipped bit or truncation anywhere is detected', () => {
    const sealed = secrets.seal('a sensitive value', first)
    for (let offset = 0; offset < sealed.length; offset++) {
      const damaged = Buffer.from(sealed)
      damaged.writeUInt8(damaged.readUInt8(offset) ^ 4, offset)

      expect(() => secrets.open(damaged, first)).toThrow(SealError)
      expect(() => secrets.open(sealed.subarray(0, offset), first)).toThrow(SealError)
    }
  })

  test('sealed bytes open neither in another context nor with another secret', () => {
    const sealed = secrets.seal('x', first)

    expect(() => secrets.open(sealed, second)).toThrow(SealError)
    expect(() => newSecrets().open(sealed, first)).toThrow(SealError)
  })

  test('the same text never seals to the same bytes', () => {
    expect(secrets.seal('x', c).equals(secrets.seal('x', c))).toBe(false)
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
    expect(newSecrets().verify('bc', signature, 'a')).toBe(false)
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
  expect(() => createSecrets({ current: randomBytes(31), previous: [] })).toThrow('the secret must be 32 bytes, not 31')
})

describe('a replaced secret', () => {
  const [old, current] = [randomBytes(32), randomBytes(32)]
  const before = createSecrets({ current: old, previous: [] })
  const during = createSecrets({ current, previous: [old] }, digestKeyOf(old))
  const after = createSecrets({ current, previous: [] }, digestKeyOf(old))
  const now = new Date('2026-03-01T12:00:00Z')

  test('what it sealed opens while it is accepted, and the error names its id afterwards', () => {
    const sealed = before.seal('x', c)

    expect(during.openText(sealed, c)).toBe('x')
    expect(during.isCurrent(sealed)).toBe(false)
    expect(during.isCurrent(during.seal('x', c))).toBe(true)
    expect(() => after.open(sealed, c)).toThrow(
      `sealed c is damaged, or needs the secret with the id ${shownKeyId(old)}, which this server does not have`,
    )
    expect(() => before.open(during.seal('x', c), c)).toThrow(shownKeyId(current))
  })

  test('what was sealed before ids existed opens with any accepted secret', () => {
    // Sealed as 'x' in the context 'c' with the secret 0x22 repeated, by the first version of the format.
    const sealed = Buffer.from('01eab4b940f579a75a06590526913b3d47862c9c3ed974c4976b73c5aef9', 'hex')
    const known = Buffer.alloc(32, 0x22)

    expect(createSecrets({ current: known, previous: [] }).openText(sealed, c)).toBe('x')
    expect(createSecrets({ current, previous: [old, known] }).openText(sealed, c)).toBe('x')
    expect(createSecrets({ current, previous: [known] }).isCurrent(sealed)).toBe(false)
    expect(() => during.open(sealed, c)).toThrow(SealError)
  })

  test('its signatures are valid while it is accepted', () => {
    const expiresAt = new Date(now.getTime() + 60_000)
    const path = before.signPath({ purpose: 'p', id: 'x', expiresAt })

    expect(during.verify('a', before.sign('a', 'p'), 'p')).toBe(true)
    expect(after.verify('a', before.sign('a', 'p'), 'p')).toBe(false)
    expect(during.verifyPath(path, 'p', now)).toEqual({ id: 'x', expiresAt })
    expect(during.verifyPath(path, 'p', expiresAt)).toEqual({ problem: 'expired' })
    expect(after.verifyPath(path, 'p', now)).toEqual({ problem: 'forged' })
    expect(during.signPath({ purpose: 'p', id: 'x', expiresAt })).toBe(
      after.signPath({ purpose: 'p', id: 'x', expiresAt }),
    )
  })

  test('digests stay the same', () => {
    expect(during.digest('a', 'p')).toBe(before.digest('a', 'p'))
    expect(after.digest('a', 'p')).toBe(before.digest('a', 'p'))
    expect(newSecrets().digest('a', 'p')).not.toBe(before.digest('a', 'p'))
  })
})
