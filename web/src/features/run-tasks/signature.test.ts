import { expect, test } from 'vitest'
import { pastedSignature, signatureOf } from './signature.ts'

// Computed by `openssl dgst -sha512 -hmac`.
test.each([
  [
    '{"run_id":"run-1"}',
    'secret',
    '9b2a5f2645947fac8f14c8bd8d10a5381ca0ee3456f62f429a29bf43a18367c9fee538ad92614243b21df6e888c6df97fe5535cf0cdcb66967894f453c189f1a',
  ],
  [
    'äöü 😀\n',
    'schlüssel',
    'd476bd4ec8f674f5b87dda30dd7018c26d817f9e20f9ea77e5f5890c198b003a21dfbae860844041564d205c231d618bddccc42568293f69fb652cdbf844df12',
  ],
  [
    '',
    'k'.repeat(200),
    '25817dd748c9446b2b0201af68cec787d1732c0f570ef6803bf33a577080b794f706754f99214ec4606384f9c72131ea2f62d01d07eb2e0e7d7e4a75ab6e3f1c',
  ],
])('signs %j with the key %j', (body, key, expected) => {
  expect(signatureOf(body, key)).toBe(expected)
})

test('reads a pasted header with or without its name', () => {
  expect(pastedSignature(' X-TFC-Task-Signature: AB12 \n')).toBe('ab12')
  expect(pastedSignature('ab12')).toBe('ab12')
})
