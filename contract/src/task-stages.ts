import { z } from 'zod'
import { type Written, hasMany, hasOne, linkedResource, nullable, statusTimestamps, timestamp } from './responses.ts'
import { stage } from './run-tasks.ts'

export const TASK_STAGE_STATUS = [
  'pending',
  'running',
  'passed',
  'failed',
  'awaiting_override',
  'errored',
  'canceled',
  'unreachable',
] as const
export type TaskStageStatus = (typeof TASK_STAGE_STATUS)[number]

export const taskStageSchema = linkedResource('task-stages', {
  attributes: {
    stage,
    status: z.enum(TASK_STAGE_STATUS).describe('`unreachable` when the run ended before it'),
    'status-timestamps': statusTimestamps,
    message: nullable.string.describe('our own: which task decided, and why'),
    'created-at': timestamp,
    'updated-at': timestamp,
    permissions: z.strictObject({
      'can-override-policy': z.boolean(),
      'can-override-tasks': z.boolean(),
      'can-override': z.boolean(),
    }),
    actions: z.strictObject({ 'is-overridable': z.boolean() }),
  },
  relationships: {
    run: hasOne('runs'),
    'task-results': hasMany('task-results'),
    'policy-evaluations': hasMany('policy-evaluations').describe(
      'one, at `post_plan`, if policies apply to the workspace',
    ),
  },
})
export type TaskStageResource = Written<typeof taskStageSchema>
