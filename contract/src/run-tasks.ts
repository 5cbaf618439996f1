import { z } from 'zod'
import { boundedList, boundedMap, rejectedAttribute, requestBody, toOne, toOneOrNone } from './json-api.ts'
import { resourceName } from './organizations.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  linksToOne,
  nullable,
  resource,
  timestamp,
} from './responses.ts'
import { storableText } from './storable.ts'

export const STAGES = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const
export const stage = z.enum(STAGES)
export type Stage = z.infer<typeof stage>

export const enforcementLevel = z.enum(['advisory', 'mandatory'])

/** Keeps the order, since clients compare it; drops duplicates. */
const stages = boundedList(stage, STAGES.length)
  .refine((stages) => stages.length > 0, 'stages is empty: at least one stage is needed')
  .transform((stages) => [...new Set(stages)])

/** The server decides whether requests may go to the address. */
const url = z.string().min(1, "URL can't be blank").max(2000)

const taskAttributes = z.object({
  name: resourceName('Name'),
  url,
  description: z.string().max(300, 'description is too long (maximum is 300 characters)').nullish(),
  category: z.literal('task').default('task'),
  /** Key that signs every request; null or empty removes it. Never shown. */
  'hmac-key': z.string().max(1000).nullish(),
  enabled: z.boolean().optional(),
  'global-configuration': z
    .object({
      enabled: z.boolean().optional(),
      stages: stages.optional(),
      'enforcement-level': enforcementLevel.optional(),
    })
    .nullish(),
  /** Our own: PEM certificates of the authorities that signed the receiver's certificate, in addition to the public ones. */
  'ca-certificate': z
    .string()
    .max(100_000)
    .regex(/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/, 'it must be one or more certificates in PEM')
    .or(z.literal(''))
    .nullish(),
  'agent-pool-id': rejectedAttribute(
    'agent-pool-id is not an attribute of a run task: use the relationship agent-pool',
  ),
})
const taskRelationships = z.object({ 'agent-pool': toOneOrNone('agent-pools').optional() })

export const createTaskBody = requestBody('tasks', taskAttributes, taskRelationships)
export type CreateTask = z.infer<typeof createTaskBody>['data']
export const updateTaskBody = requestBody(
  'tasks',
  taskAttributes.extend({ category: z.literal('task') }).partial(),
  taskRelationships,
)
export type UpdateTask = z.infer<typeof updateTaskBody>['data']

const workspaceTaskAttributes = z.object({
  'enforcement-level': enforcementLevel,
  stages: stages.optional(),
  /** The older form of `stages`, for a single one. */
  stage: stage.optional(),
})

export const createWorkspaceTaskBody = requestBody(
  'workspace-tasks',
  workspaceTaskAttributes,
  z.object({ task: toOne('tasks') }),
)
export type CreateWorkspaceTask = z.infer<typeof createWorkspaceTaskBody>['data']
export const updateWorkspaceTaskBody = requestBody('workspace-tasks', workspaceTaskAttributes.partial())
export type UpdateWorkspaceTask = z.infer<typeof updateWorkspaceTaskBody>['data']['attributes']

/** Characters that the database does not store are replaced, to avoid rejecting the result of a receiver. */
const text = z.string().transform(storableText)

/** Shown with the run; longer texts belong in outcome bodies. */
const MAX_LINE = 65_536
const line = (name: string) =>
  text
    .refine((value) => value.length <= MAX_LINE, `${name} is too long (maximum is ${MAX_LINE} characters)`)
    .meta({ maxLength: MAX_LINE })

/** A link for users; receivers without one send an empty string. */
const link = line('url').refine((value) => value === '' || isWebUrl(value), {
  error: ({ input }) => `url is ${JSON.stringify(String(input).slice(0, 100))}; it must be an http or https URL`,
})

/** Parsed as a browser would, so that control characters cannot hide another scheme. */
function isWebUrl(value: string) {
  return ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '')
}

export const OUTCOME_BODY_BYTES = 5 * 1024 * 1024

/** Levels of an outcome's tags, the least severe first. */
export const TAG_LEVELS = ['none', 'info', 'warning', 'error'] as const

const tag = z.object({
  label: line('label'),
  level: z
    .enum(TAG_LEVELS)
    .nullish()
    .transform((level) => level ?? 'none'),
})

const outcome = z.object({
  type: z.literal('task-result-outcomes'),
  attributes: z.object({
    'outcome-id': text.pipe(z.string().min(1, "outcome-id can't be blank").max(500)).meta({ maxLength: 500 }),
    description: line('description'),
    body: text
      .refine((body) => new TextEncoder().encode(body).length <= OUTCOME_BODY_BYTES, 'the body is larger than 5 MB')
      .meta({ maxLength: OUTCOME_BODY_BYTES })
      .nullish(),
    url: link.nullish(),
    tags: boundedMap(line('tags'), boundedList(tag)).nullish(),
  }),
})
export type TaskOutcome = z.infer<typeof outcome>['attributes']

const outcomes = z
  .object({
    data: boundedList(outcome)
      .nullish()
      .transform((data) => data ?? []),
  })
  .nullish()

/** The callback of a receiver. The public documentation has two names for the relation. */
export const taskCallbackBody = requestBody(
  z.enum(['task-results', 'task_results']),
  z.object({
    status: z.enum(['passed', 'failed', 'running']),
    message: line('message').nullish(),
    url: link.nullish(),
  }),
  z.object({ outcomes, 'task-result-outcomes': outcomes }),
)
export type TaskCallback = z.infer<typeof taskCallbackBody>['data']

export const taskSchema = linkedResource('tasks', {
  attributes: {
    name: z.string(),
    url: z.string().describe('where the requests of the task are sent'),
    description: nullable.string,
    category: z.string().describe('always `task`'),
    'hmac-key': z.null().describe('never shown'),
    'has-hmac-key': z.boolean().describe('our own: whether requests are signed'),
    enabled: z.boolean(),
    'global-configuration': z
      .strictObject({ enabled: z.boolean(), stages: z.array(stage), 'enforcement-level': enforcementLevel })
      .nullable()
      .describe('settings that apply the task to every workspace of the organization; null where its plan lacks them'),
    'ca-certificate': nullable.string.describe(
      "our own: PEM certificates of the authorities that signed the receiver's certificate",
    ),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: {
    organization: hasOne('organizations'),
    'workspace-tasks': hasMany('workspace-tasks').describe('of the workspaces that the caller may see'),
    'agent-pool': hasOne('agent-pools').describe('its agents send the requests; without a pool the server does'),
    health: linksToOne('task-healths').optional().describe('our own: only when included'),
  },
})
export type TaskResource = Written<typeof taskSchema>

/** Number of deliveries that the health of a task covers. */
export const HEALTH_DELIVERIES = 50

/** The latest deliveries of a task, over all runs; our own. */
export const taskHealthSchema = resource('task-healths', {
  attributes: {
    recent: z
      .array(z.boolean())
      .describe(`whether each of the last ${HEALTH_DELIVERIES} deliveries was acknowledged, oldest first`),
    succeeded: z.int().describe('number of acknowledged deliveries among these'),
    failed: z.int(),
    'median-ms': nullable.int.describe('median time of these responses; null without a response'),
    'p95-ms': nullable.int.describe('95th percentile of these response times'),
    'last-sent-at': nullable.time,
    'last-error': nullable.string.describe('why the last failed one of these deliveries failed'),
    'last-error-at': nullable.time,
  },
  relationships: { task: hasOne('tasks') },
})
export type TaskHealthResource = Written<typeof taskHealthSchema>

export const workspaceTaskSchema = linkedResource('workspace-tasks', {
  attributes: {
    'enforcement-level': enforcementLevel.describe('whether a failed task stops the run (mandatory) or only warns'),
    stage: stage.nullable().describe('the first of `stages`; the older form of it'),
    stages: z.array(stage),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: { task: hasOne('tasks'), workspace: hasOne('workspaces') },
})
export type WorkspaceTaskResource = Written<typeof workspaceTaskSchema>

export const sentRequest = z.strictObject({
  method: z.literal('POST'),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

export const receivedResponse = z
  .strictObject({
    status: z.int(),
    headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    body: z.string(),
    'is-truncated': z.boolean().describe('whether only the start of the body was kept'),
    'is-withheld': z
      .boolean()
      .describe(
        'whether headers and body are withheld: they come from a private address, so only site administrators see them',
      ),
  })
  .nullable()

/** When a request was sent, and what was received: the attributes of each delivery. */
export const exchangeAttributes = {
  'sent-at': timestamp,
  'duration-ms': z.int(),
  request: sentRequest,
  response: receivedResponse,
}

export const taskTestSchema = resource('task-tests', {
  attributes: {
    passed: z.boolean(),
    summary: z.string().describe('the result of the request, in one line'),
    'duration-ms': z.int(),
    request: sentRequest,
    'expected-signature': z.string().describe("hex HMAC-SHA512 of the request's body; empty without a key"),
    response: receivedResponse,
    error: nullable.string.describe('why there is no response'),
  },
  relationships: { task: hasOne('tasks') },
})
export type TaskTestResource = Written<typeof taskTestSchema>
