import { describe, expect, test } from 'vitest'
import { hclValueProblem } from './hcl-value.ts'

describe('the value of a variable', () => {
  test.each([
    '"l"',
    '12',
    'true',
    'null',
    '["a", "b"]',
    '{ key = "value" }',
    '{\n  a = [1, 2]\n}',
    '"a ${1 + 1}"',
    '-1.5',
  ])('%s is HCL', async (value) => {
    expect(await hclValueProblem(value)).toBeUndefined()
  })

  test.each(['"l', '[1, 2', '{ key = }', '1 2', '"a" = "b"'])('%s is none', async (value) => {
    expect(await hclValueProblem(value)).toContain('this is no HCL')
  })

  test('text without quotes is told to have some', async () => {
    expect(await hclValueProblem('large')).toContain('"large"')
  })

  test('nothing at all is no value', async () => {
    expect(await hclValueProblem(' ')).toContain('empty')
  })
})
