import { describe, expect, test } from 'vitest'
import { hclFault, parseEnv, parseJsonVariables, parseTfvars } from './import-formats.ts'

describe('a .tfvars file', () => {
  test.each([
    { text: 'a = "b"', is: { key: 'a', value: 'b', hcl: false } },
    { text: 'a = "b \\"c\\" \\n $${d} \\u00e9"', is: { key: 'a', value: 'b "c" \n ${d} é', hcl: false } },
    { text: 'a = 8080', is: { key: 'a', value: '8080', hcl: false } },
    { text: 'a = true', is: { key: 'a', value: 'true', hcl: false } },
    { text: 'a = null', is: { key: 'a', value: 'null', hcl: true } },
    { text: 'a = ["b", 1]', is: { key: 'a', value: '["b", 1]', hcl: true } },
    {
      text: 'a = {\n  b = 1 # why\n  "c d" = [true]\n}',
      is: { key: 'a', value: '{\n  b = 1 # why\n  "c d" = [true]\n}', hcl: true },
    },
    { text: 'a = <<-EOT\n  b\n  EOT\n', is: { key: 'a', value: '<<-EOT\n  b\n  EOT', hcl: true } },
    { text: '\uFEFFa-b = "c"\r\n', is: { key: 'a-b', value: 'c', hcl: false } },
  ])('$text is read', ({ text, is }) => {
    expect(parseTfvars(text)).toEqual([{ line: 1, ...is }])
  })

  test('comments are skipped, and lines are counted', () => {
    const text = '# one\n// two\n/* three\nfour */\na = "b"\n\nc = "d" # five\n'

    expect(parseTfvars(text)).toEqual([
      { key: 'a', value: 'b', hcl: false, line: 5 },
      { key: 'c', value: 'd', hcl: false, line: 7 },
    ])
  })

  test.each([
    { text: 'a = eu-west-1', line: 1, fault: /write a string in quotes, "eu-west-1"/ },
    { text: 'a = ["b", var.c[0]]', line: 1, fault: /^var\.c\[0\] is a reference/ },
    { text: 'a = upper("b")', line: 1, fault: /upper\(\) can’t be called/ },
    { text: 'a = "x ${b}"', line: 1, fault: /b is a reference/ },
    { text: 'a = "b"\nc = {', line: 2, fault: /missing|unexpected/ },
    { text: 'a = "b"\na = "c"', line: 1, fault: /overridden by line 2/ },
    { text: 'a {\n b = 1\n}', line: 1, fault: /expected `name = value`/ },
  ])('$text has a fault in line $line', ({ text, line, fault }) => {
    const first = parseTfvars(text).find((parsed) => 'fault' in parsed)

    expect(first).toEqual({ line, fault: expect.stringMatching(fault) as string })
  })

  test.each([
    { text: 'a = "b"\nnote = "unclosed\nregion = "x"\nkept = 2', line: 2, kept: ['a', 'region', 'kept'] },
    { text: 'zones = ["a", "b"\nkept = 2\nobject = {\n  a = 1\n}', line: 1, kept: ['kept', 'object'] },
    { text: 'object = {\n  a = 1\nkept = 2', line: 1, kept: ['kept'] },
    { text: 'one two\nkept = 2', line: 1, kept: ['kept'] },
  ])('an unclosed part of $text is reported in line $line, and the rest is read', ({ text, line, kept }) => {
    const parsed = parseTfvars(text)

    expect(parsed.filter((one) => 'fault' in one).map((one) => one.line)).toEqual([line])
    expect(parsed.flatMap((one) => ('key' in one ? [one.key] : []))).toEqual(kept)
  })

  test('a text without variables yields none', () => {
    expect(parseTfvars('')).toEqual([])
    expect(parseTfvars('# nothing\n')).toEqual([])
  })
})

describe('an HCL value', () => {
  test.each([
    '1',
    '"a"',
    '["a", "b"]',
    '{ a = 1, b = { c = null } }',
    '[for s in ["a"] : s]',
    '<<EOT\nx\nEOT',
    '{\n  a = 1\n}',
  ])('%s is valid', (value) => {
    expect(hclFault(value)).toBeUndefined()
  })

  test.each([
    ['', /can’t be empty/],
    ['[', /missing/],
    ['{ a = }', /unexpected/],
    ['"a', /missing/],
    ['hello world', /is a reference|unexpected|missing/],
    ['var.a', /is a reference/],
    ['file("x")', /can’t be called/],
    ['1\nb = 2', /more than one value/],
    ['[\n  1,\n  oops\n]', /^line 3: /],
  ])('%s is invalid', (value, fault) => {
    expect(hclFault(value)).toMatch(fault)
  })
})

const valueOf = (text: string) => parseEnv(text).map((parsed) => ('key' in parsed ? parsed.value : `! ${parsed.fault}`))

test.each([
  { text: 'A=b', is: ['b'] },
  { text: 'export A=b', is: ['b'] },
  { text: '  A = b  # why', is: ['b'] },
  { text: 'A=b#c', is: ['b#c'] },
  { text: 'A=', is: [''] },
  { text: 'A="b # c" # d', is: ['b # c'] },
  { text: 'A="b\\n\\"c\\" \\$d"', is: ['b\n"c" $d'] },
  { text: "A='b\\n'", is: ['b\\n'] },
  { text: 'A="b\nc"\nD=e', is: ['b\nc', 'e'] },
  { text: '\uFEFFA=b\r\n# a comment\r\n\r\nC=d\r\n', is: ['b', 'd'] },
  { text: 'A=$OTHER', is: ['$OTHER'] },
  { text: 'A=x=y', is: ['x=y'] },
])('$text is read as $is', ({ text, is }) => {
  expect(valueOf(text)).toEqual(is)
})

test.each([
  { text: 'nonsense', line: 1, fault: /not of the form KEY=value/ },
  { text: 'A=b\nC="d', line: 2, fault: /not closed/ },
  { text: 'A="b" c', line: 1, fault: /“c” after/ },
  { text: 'A=b\nC=d\nA=e', line: 1, fault: /overridden by line 3/ },
])('$text has a fault in line $line', ({ text, line, fault }) => {
  const faults = parseEnv(text).filter((parsed) => 'fault' in parsed)

  expect(faults).toEqual([{ line, fault: expect.stringMatching(fault) as string }])
})

test('plain values stay plain, and others become HCL', () => {
  const parsed = parseJsonVariables('{"region":"eu","port":8080,"tags":{"a b":["x","${y}"],"n":null}}')

  expect(parsed).toEqual([
    { key: 'region', value: 'eu', hcl: false, line: 1 },
    { key: 'port', value: '8080', hcl: false, line: 1 },
    { key: 'tags', value: '{\n  "a b" = [\n    "x",\n    "$${y}",\n  ]\n  "n" = null\n}', hcl: true, line: 1 },
  ])
  expect(parsed.map((one) => 'hcl' in one && one.hcl && hclFault(one.value))).toEqual([false, false, undefined])
})

test('a number that JavaScript would round keeps its digits at any depth', () => {
  const parsed = parseJsonVariables('{"account":9007199254740993,"ids":[123456789012345678]}')

  expect(parsed.map((one) => 'key' in one && one.value)).toEqual(['9007199254740993', '[\n  123456789012345678,\n]'])
})

test.each(['{', '[]', '"a"', '9007199254740993'])('%s is rejected as a file of variables', (source) => {
  expect(parseJsonVariables(source)).toEqual([{ line: 1, fault: expect.stringMatching(/JSON/) as string }])
})
