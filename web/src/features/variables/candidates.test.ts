import { expect, test } from 'vitest'
import { type Candidate, changedIn, formatOf, isLikelySecret } from './candidates.ts'

const token = { key: 'token', hcl: false, existingId: undefined, before: undefined, isSelected: false }
const candidates: readonly Candidate[] = [
  { ...token, category: 'terraform', value: 'plain', sensitive: false },
  { ...token, category: 'env', value: undefined, sensitive: true },
]

test('entering the value of an environment variable keeps the Terraform variable of the same name', () => {
  const changed = changedIn(candidates, { key: 'token', category: 'env' }, { value: 'secret', isSelected: true })

  expect(changed).toEqual([candidates[0], { ...candidates[1], value: 'secret', isSelected: true }])
})

test.each([
  { text: 'A=b\nC=d', is: 'env' },
  { text: 'export A=b', is: 'env' },
  { text: 'region = "eu"', is: 'tfvars' },
  { text: '{"a":1}', is: 'json' },
  { text: 'A=b', name: 'x.tfvars', is: 'tfvars' },
  { text: 'a = 1', name: 'prod.tfvars.json', is: 'json' },
  { text: 'a=1', name: '.env.local', is: 'env' },
])('$text in the file "$name" is $is', ({ text, name, is }) => {
  expect(formatOf(text, name)).toBe(is)
})

test.each([
  ['db_password', true],
  ['API_TOKEN', true],
  ['AWS_SECRET_ACCESS_KEY', true],
  ['AWS_ACCESS_KEY_ID', false],
  ['region', false],
])('%s sounds like a secret: %s', (key, is) => {
  expect(isLikelySecret(key)).toBe(is)
})
