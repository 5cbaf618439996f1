import { expect, test } from 'vitest'
import { parseEnv, parseTfvars } from './import-formats.ts'
import { type Variable, envText, tfvarsText } from './variables.ts'

function variable(category: 'terraform' | 'env', key: string, value: string | null, hcl = false) {
  return { attributes: { category, key, value, hcl } } as Variable
}

test.each(['plain', 'a "b" ${c} $d', 'two\nlines', 'back\\slash', ''])('the text %j survives both formats', (value) => {
  const [fromTfvars] = parseTfvars(tfvarsText([variable('terraform', 'a', value)]))
  const [fromEnv] = parseEnv(envText([variable('env', 'A', value)]))

  expect(fromTfvars).toMatchObject({ key: 'a', value, hcl: false })
  expect(fromEnv).toMatchObject({ key: 'A', value })
})

test('an HCL value is kept as is, and a sensitive one is left out', () => {
  const text = tfvarsText([variable('terraform', 'a', '["b"]', true), variable('terraform', 'c', null)])

  expect(text).toBe('a = ["b"]\n# c is sensitive\n')
})
