import { describe, expect, test } from 'vitest'
import { parseExact, printExact } from './exact-json.ts'
import { holdsSensitiveValue, maskedPlan, sensitiveTexts } from './sensitive-values.ts'

const text = (value: string) => ({ value, hcl: false })
const hcl = (value: string) => ({ value, hcl: true })
const MASKED = '(sensitive value)'

describe('the texts of a sensitive variable', () => {
  test.each([
    [text('swordfish'), ['swordfish']],
    [text('true'), []],
    [text('12345'), []],
    [text(''), []],
    [hcl('["swordfish", "b", 1234567]'), ['["swordfish", "b", 1234567]', 'swordfish', '1234567']],
    [hcl('{ "username" = "ada lovelace", token: "a\\"b\\u0041$${c}" }'), ['ada lovelace', 'a"bA${c}']],
    [text('{"username": "ada lovelace"}'), ['{"username": "ada lovelace"}', 'ada lovelace']],
    [hcl('<<EOT\n  line one\nline two\nEOT\n'), ['  line one\nline two', '  line one\nline two\n']],
    [
      hcl('{ a = <<-EOT\n    line one\n      two\n    EOT\n b = 1234567 }'),
      ['line one\n  two', 'line one\n  two\n', '1234567'],
    ],
    [hcl('["swordfish", "not closed\\'), ['swordfish', 'not closed\\']],
  ])('%j are %j', (variable, texts) => {
    const found = [...sensitiveTexts([variable])]

    expect(found).toEqual(expect.arrayContaining(texts))
    expect(found.filter((one) => one !== variable.value)).toEqual(texts.filter((one) => one !== variable.value))
  })

  test.each([
    '<<A\n'.repeat(40_000),
    `<<A\n${'\n'.repeat(200_000)}`,
    `"${'\\"'.repeat(100_000)}\\`,
    '"'.repeat(200_000),
    `${'9'.repeat(200_000)}a`,
  ])('are found in linear time, case %#', (value) => {
    const started = performance.now()
    sensitiveTexts([hcl(value)])

    expect(performance.now() - started).toBeLessThan(1000)
  })

  test('are found as whole values, at any depth and with all digits', () => {
    const texts = sensitiveTexts([text('swordfish'), text('12345678901234567890'), text('1234567')])

    const holds = (json: string) => holdsSensitiveValue(parseExact(json), texts)

    expect(
      ['"swordfish"', '[{"a":["swordfish"]}]', '12345678901234567890', '"1234567"', '1234567', '[{"swordfish":1}]'].map(
        holds,
      ),
    ).toEqual(Array.from({ length: 6 }, () => true))
    expect(['"a swordfish"', '12345678901234567891', 'null'].map(holds)).toEqual(Array.from({ length: 3 }, () => false))
  })
})

describe('a masked plan', () => {
  const texts = sensitiveTexts([text('swordfish'), text('1234567')])
  const masked = (change: object): any => {
    const plan = parseExact(JSON.stringify({ resource_changes: [{ address: 'a.b', change }], output_changes: {} }))
    return JSON.parse(printExact(maskedPlan(plan, texts))).resource_changes[0].change
  }

  test('marks what it hides, in the shape of the value', () => {
    const change = masked({
      before: null,
      after: { a: 'swordfish', list: [null, { pin: 1234567 }], other: 'x' },
      after_sensitive: { other: true },
    })

    expect(change.after).toEqual({ a: MASKED, list: [null, { pin: MASKED }], other: 'x' })
    expect(change.after_sensitive).toEqual({ other: true, a: true, list: [false, { pin: true }] })
  })

  test('hides both sides of a change from or to a sensitive value', () => {
    const change = masked({ before: { a: 'the former' }, after: { a: 'swordfish' }, before_sensitive: false })

    expect(change).toMatchObject({ before: { a: MASKED }, after: { a: '(changed sensitive value)' } })
    expect(change).toMatchObject({ before_sensitive: { a: true }, after_sensitive: { a: true } })
  })

  test('hides an object with a sensitive key, but not a resource with an attribute of that name', () => {
    const change = masked({ before: { swordfish: 'x', tags: { swordfish: 'y' } }, after: { swordfish: 'x' } })
    const output = { before: null, after: { swordfish: 'x' }, after_sensitive: false }
    const { output_changes: outputs } = maskedPlan({ output_changes: { keyed: output } }, texts)

    expect(change.before).toEqual({ swordfish: 'x', tags: MASKED })
    expect(change.before_sensitive).toMatchObject({ tags: true })
    expect(outputs).toMatchObject({ keyed: { before: null, after: MASKED, after_sensitive: true } })
  })

  test('hides the key of an unknown value', () => {
    const shape = { tags: { swordfish: true }, list: [{ other: true }], swordfish: true }
    const change = masked({
      before: null,
      after: { tags: {}, list: [{}] },
      after_unknown: shape,
      after_sensitive: shape,
      replace_paths: [['tags', 'swordfish'], ['list', 0], ['swordfish']],
    })

    expect(change.after_unknown).toEqual({ ...shape, tags: true })
    expect(change.after_sensitive).toEqual({ ...shape, tags: true })
    expect(change.replace_paths).toEqual([['tags'], ['list', 0], ['swordfish']])
  })

  test('is otherwise unchanged', () => {
    const change = { before: { a: ['one'], b: null }, after: { a: ['two', true, 1], b: {} }, after_sensitive: {} }

    expect(masked(change)).toEqual(change)
  })
})
