import { expect, test } from 'vitest'
import { parseJsonVariables } from './json-vars.ts'
import { hclFault } from './tfvars.ts'

test('plain values stay plain, and others become HCL', () => {
  const given = parseJsonVariables('{"region":"eu","port":8080,"tags":{"a b":["x","${y}"],"n":null}}')

  expect(given).toEqual([
    { key: 'region', value: 'eu', hcl: false, line: 1 },
    { key: 'port', value: '8080', hcl: false, line: 1 },
    { key: 'tags', value: '{\n  "a b" = [\n    "x",\n    "$${y}",\n  ]\n  "n" = null\n}', hcl: true, line: 1 },
  ])
  expect(given.map((one) => 'hcl' in one && one.hcl && hclFault(one.value))).toEqual([false, false, undefined])
})

test('a number that JavaScript would round keeps its digits, wherever it stands', () => {
  const given = parseJsonVariables('{"account":9007199254740993,"ids":[123456789012345678]}')

  expect(given.map((one) => 'key' in one && one.value)).toEqual(['9007199254740993', '[\n  123456789012345678,\n]'])
})

test.each(['{', '[]', '"a"', '9007199254740993'])('%s is told to be no file of variables', (source) => {
  expect(parseJsonVariables(source)).toEqual([{ line: 1, fault: expect.stringMatching(/JSON/) as string }])
})
