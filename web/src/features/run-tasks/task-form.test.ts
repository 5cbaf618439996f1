import { expect, test } from 'vitest'
import { NEW_TASK, taskBody } from './task-form.ts'

test('only changes are sent, trimmed, and empty texts as null', () => {
  const { attributes, relationships } = taskBody({ name: ' limits ', description: ' ', poolId: '' }, NEW_TASK)

  expect(attributes).toEqual({ name: 'limits', description: null })
  expect(relationships).toEqual({ 'agent-pool': { data: null } })
})

test('the key is replaced or removed, and otherwise not sent', () => {
  expect(taskBody({ key: 'secret' }, NEW_TASK).attributes).toEqual({ 'hmac-key': 'secret' })
  expect(taskBody({ isKeyRemoved: true }, NEW_TASK).attributes).toEqual({ 'hmac-key': null })
  expect(taskBody({ key: '', isKeyRemoved: false }, NEW_TASK).attributes).toEqual({})
})

test('the global configuration is sent as a whole', () => {
  const values = { ...NEW_TASK, isGlobal: true, pre_apply: true, level: 'mandatory' } as const

  expect(taskBody({ pre_apply: true }, values).attributes).toEqual({
    'global-configuration': { enabled: true, stages: ['post_plan', 'pre_apply'], 'enforcement-level': 'mandatory' },
  })
})
