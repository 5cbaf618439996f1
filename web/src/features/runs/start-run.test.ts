import { describe, expect, test } from 'vitest'
import { NEW_RUN, newRunBody, optionsSet } from './start-run.ts'

const EVERYTHING = {
  ...NEW_RUN,
  message: ' Grow ',
  targets: ['aws_subnet.a'],
  replaced: ['aws_subnet.b'],
  variables: [{ row: 1, key: ' size ', value: ' "l" ' }],
  engineVersion: '1.11.4',
  autoApply: 'yes',
  allowsEmptyApply: true,
  savesPlan: false,
  generates: true,
  isDebugging: true,
  refreshes: false,
} as const

const attributesOf = (run: Parameters<typeof newRunBody>[1]) => newRunBody('ws-1', run).data.attributes

describe('a run that is started', () => {
  test('has nothing but a message where no option is set', () => {
    expect(attributesOf(NEW_RUN)).toEqual({ message: 'Started in the web application' })
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

  test('names an engine version only when it is plan-only, and then nothing about the apply', () => {
    const attributes = attributesOf({ ...EVERYTHING, kind: 'plan' })

    expect(attributes).toMatchObject({ 'plan-only': true, 'engine-version': '1.11.4' })
    expect(attributes).not.toHaveProperty('auto-apply')
    expect(attributes).not.toHaveProperty('allow-empty-apply')
  })

  test('never applies by itself when it destroys', () => {
    expect(attributesOf({ ...EVERYTHING, kind: 'destroy' })).toMatchObject({ 'is-destroy': true, 'auto-apply': false })
  })

  test('replaces nothing and always refreshes when it only refreshes', () => {
    const attributes = attributesOf({ ...EVERYTHING, kind: 'refresh' })

    expect(attributes).toMatchObject({ 'refresh-only': true })
    expect(attributes).not.toHaveProperty('replace-addrs')
    expect(attributes).not.toHaveProperty('refresh')
  })

  test('is not applied by itself when its plan is saved', () => {
    const attributes = attributesOf({ ...EVERYTHING, savesPlan: true })

    expect(attributes).toMatchObject({ 'save-plan': true })
    expect(attributes).not.toHaveProperty('auto-apply')
  })

  test('counts the options that are set, each variable by itself', () => {
    expect(optionsSet(NEW_RUN)).toBe(0)
    expect(optionsSet({ ...NEW_RUN, kind: 'destroy' })).toBe(0)
    expect(optionsSet(EVERYTHING)).toBe(8)
  })
})
