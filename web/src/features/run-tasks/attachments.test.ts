import { expect, test } from 'vitest'
import { withStage } from './attachments.ts'

test('a stage is added in order, and its level becomes that of all stages', () => {
  const attachment = { stages: ['pre_apply' as const], 'enforcement-level': 'advisory' as const }

  expect(withStage(attachment, 'post_plan', 'mandatory')).toEqual({
    stages: ['post_plan', 'pre_apply'],
    'enforcement-level': 'mandatory',
  })
  expect(withStage(undefined, 'pre_plan', 'advisory')).toEqual({
    stages: ['pre_plan'],
    'enforcement-level': 'advisory',
  })
})

test('removing a stage keeps the level, and removing the last one detaches the task', () => {
  const attachment = { stages: ['pre_plan' as const, 'post_plan' as const], 'enforcement-level': 'mandatory' as const }

  const rest = withStage(attachment, 'pre_plan', undefined)

  expect(rest).toEqual({ stages: ['post_plan'], 'enforcement-level': 'mandatory' })
  expect(withStage(rest, 'post_plan', undefined)).toBeUndefined()
})
