import { z } from 'zod'
import {
  type Written,
  hasOne,
  linkedResource,
  linksToMany,
  nullable,
  resource,
  statusTimestamps,
  timestamp,
} from './responses.ts'
import { TAG_LEVELS, enforcementLevel, exchangeAttributes, sentRequest, stage } from './run-tasks.ts'

export const TASK_RESULT_STATUS = [
  'pending',
  'running',
  'passed',
  'failed',
  'errored',
  'canceled',
  'unreachable',
] as const
export type TaskResultStatus = (typeof TASK_RESULT_STATUS)[number]

export const taskResultSchema = linkedResource('task-results', {
  attributes: {
    status: z.enum(TASK_RESULT_STATUS).describe('`errored` when the receiver did not respond in time'),
    message: z.string().describe("the receiver's summary"),
    'status-timestamps': statusTimestamps,
    url: z.string().describe("the receiver's page about this result; empty for none"),
    'created-at': timestamp,
    'updated-at': timestamp,
    'task-id': nullable.string.describe('null once the task is deleted'),
    'task-name': z.string().describe("the task's name when the run was created"),
    'task-url': z.string().describe("the task's URL when the run was created"),
    stage,
    'is-speculative': z.boolean().describe('whether the run can only plan'),
    'workspace-task-id': nullable.string.describe('null for a task of all workspaces'),
    'workspace-task-enforcement-level': enforcementLevel,
    'agent-pool-id': nullable.string,
    'task-result-outcomes-count': z.int(),
    'outcome-levels': z
      .record(z.enum(TAG_LEVELS), z.int())
      .describe('our own: the number of outcomes by the most severe level of their tags'),
    'delivery-attempts': z.int().describe('our own: how many times the request was sent'),
    'delivered-at': nullable.time.describe('our own: when the receiver accepted the request'),
    'next-delivery-at': nullable.time.describe('our own: when the request is sent again'),
    'deadline-at': nullable.time.describe('our own: when the result becomes `errored` unless the receiver calls back'),
  },
  relationships: {
    'task-stage': hasOne('task-stages'),
    'task-result-outcomes': linksToMany('task-result-outcomes'),
    deliveries: linksToMany('task-deliveries'),
  },
})
export type TaskResultResource = Written<typeof taskResultSchema>

const tagGroup = z.strictObject({
  label: z.string(),
  value: z.array(z.strictObject({ label: z.string(), level: z.enum(TAG_LEVELS) })),
})
export type TagGroup = Written<typeof tagGroup>

export const taskResultOutcomeSchema = resource('task-result-outcomes', {
  attributes: {
    'outcome-id': z.string().describe("the receiver's own name for it"),
    description: z.string(),
    tags: z.array(tagGroup),
    url: nullable.string,
    'has-body': z.boolean().describe('our own: whether there is a Markdown body, at `links.body`'),
    'created-at': timestamp,
  },
  relationships: { 'task-result': hasOne('task-results') },
  links: { self: z.string(), body: z.string().optional() },
})
export type TaskResultOutcomeResource = Written<typeof taskResultOutcomeSchema>

const deliveryAttributes = {
  attempt: z.int().describe('counted from 1'),
  ...exchangeAttributes,
  error: nullable.string.describe('why there is no response, or why it does not acknowledge the request'),
  'agent-name': nullable.string.describe('the agent that sent it, for a task with an agent pool'),
  'next-attempt-at': nullable.time,
}

/** One delivery attempt with its request and response: a resource of our own. */
export const taskDeliverySchema = resource('task-deliveries', {
  attributes: deliveryAttributes,
  relationships: { 'task-result': hasOne('task-results') },
})
export type TaskDeliveryResource = Written<typeof taskDeliverySchema>

export const DELIVERY_STATUS = ['succeeded', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUS)[number]

const UNREADABLE = 'null for a run that the caller may not read'

/** A delivery in the list of its task, which has those of runs that the caller may not read too. */
export const deliveryOfTaskSchema = resource('task-deliveries', {
  name: 'DeliveryOfTask',
  attributes: {
    ...deliveryAttributes,
    request: sentRequest.nullable().describe(UNREADABLE),
    status: z.enum(DELIVERY_STATUS).describe('`succeeded` if the response was 200'),
    stage: stage.nullable().describe(UNREADABLE),
    'run-id': nullable.string.describe(UNREADABLE),
    'workspace-name': nullable.string.describe(UNREADABLE),
    'result-status': z.enum(TASK_RESULT_STATUS).nullable().describe(UNREADABLE),
    permissions: z.strictObject({ 'can-redeliver': z.boolean() }),
  },
  relationships: { 'task-result': hasOne('task-results').describe(UNREADABLE) },
})
export type DeliveryOfTaskResource = Written<typeof deliveryOfTaskSchema>
