import { expect, test } from 'vitest'
import { type Candidate, changedIn } from './candidates.ts'

const token = { key: 'token', hcl: false, existingId: undefined, before: undefined, isChosen: false }
const candidates: readonly Candidate[] = [
  { ...token, category: 'terraform', value: 'plain', sensitive: false },
  { ...token, category: 'env', value: undefined, sensitive: true },
]

test('a value that is given to an environment variable leaves the Terraform variable of the same name alone', () => {
  const changed = changedIn(candidates, { key: 'token', category: 'env' }, { value: 'secret', isChosen: true })

  expect(changed).toEqual([candidates[0], { ...candidates[1], value: 'secret', isChosen: true }])
})
