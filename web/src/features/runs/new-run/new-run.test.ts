import { describe, expect, test } from 'vitest'
import { countOptions, hclValueError, NEW_RUN, newRunBody } from './new-run.ts'

const EVERYTHING = {
  ...NEW_RUN,
  message: ' Grow ',
  targets: ['aws_subnet.a'],
  replacements: ['aws_subnet.b'],
  variables: [{ row: 1, key: ' size ', value: ' "l" ' }],
  engineVersion: '1.11.4',
  autoApply: 'yes',
  allowEmptyApply: true,
  savePlan: false,
  generateConfig: true,
  debuggingMode: true,
  refresh: false,
} as const

const attributesOf = (run: Parameters<typeof newRunBody>[1]) => newRunBody('ws-1', run).data.attributes

describe('a new run', () => {
  test('has only a message by default', () => {
    expect(attributesOf(NEW_RUN)).toEqual({ message: 'Triggered via UI' })
  })

  test('has all options of a plan and apply', () => {
    expect(attributesOf(EVERYTHING)).toEqual({
      message: 'Grow',
      'target-addrs': ['aws_subnet.a'],
      'replace-addrs': ['aws_subnet.b'],
      variables: [{ key: 'size', value: '"l"' }],
      'auto-apply': true,
      'allow-empty-apply': true,
      'allow-config-generation': true,
      'debugging-mode': true,
      refresh: false,
    })
  })

  test('overrides the engine version only if it is plan-only, without apply options', () => {
    const attributes = attributesOf({ ...EVERYTHING, kind: 'plan' })

    expect(attributes).toMatchObject({ 'plan-only': true, 'engine-version': '1.11.4' })
    expect(attributes).not.toHaveProperty('auto-apply')
    expect(attributes).not.toHaveProperty('allow-empty-apply')
  })

  test('is never auto-applied if it destroys', () => {
    expect(attributesOf({ ...EVERYTHING, kind: 'destroy' })).toMatchObject({ 'is-destroy': true, 'auto-apply': false })
  })

  test('that is refresh-only replaces nothing and always refreshes', () => {
    const attributes = attributesOf({ ...EVERYTHING, kind: 'refresh' })

    expect(attributes).toMatchObject({ 'refresh-only': true })
    expect(attributes).not.toHaveProperty('replace-addrs')
    expect(attributes).not.toHaveProperty('refresh')
  })

  test('is not auto-applied if its plan is saved', () => {
    const attributes = attributesOf({ ...EVERYTHING, savePlan: true })

    expect(attributes).toMatchObject({ 'save-plan': true })
    expect(attributes).not.toHaveProperty('auto-apply')
  })

  test('counts its options and each variable', () => {
    expect(countOptions(NEW_RUN)).toBe(0)
    expect(countOptions({ ...NEW_RUN, kind: 'destroy' })).toBe(0)
    expect(countOptions(EVERYTHING)).toBe(8)
  })
})

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
  ])('%s is valid', async (value) => {
    expect(await hclValueError(value)).toBeUndefined()
  })

  test.each(['"l', '[1, 2', '{ key = }', '1 2', '"a" = "b"'])('%s is invalid', async (value) => {
    expect(await hclValueError(value)).toContain('invalid HCL')
  })

  test('a string needs quotes', async () => {
    expect(await hclValueError('large')).toContain('"large"')
  })

  test('must not be empty', async () => {
    expect(await hclValueError(' ')).toContain('empty')
  })
})
