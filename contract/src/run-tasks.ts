import { z } from 'zod'
import { requestBody, toOne } from './json-api.ts'
import { resourceName } from './organizations.ts'

export const STAGES = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const
export const stage = z.enum(STAGES)
export type Stage = z.infer<typeof stage>

export const enforcementLevel = z.enum(['advisory', 'mandatory'])

/** In the order of a run, each once. */
const stages = z
  .array(stage)
  .min(1, 'at least one stage is needed')
  .transform((given) => STAGES.filter((name) => given.includes(name)))

/** Whether requests may go there is the server's to say. */
const url = z.string().min(1, "URL can't be blank").max(2000)

const taskAttributes = z.object({
  name: resourceName('Name'),
  url,
  description: z.string().max(300, 'description is too long (maximum is 300 characters)').nullish(),
  category: z.literal('task').default('task'),
  /** Signs every request; null or empty takes it away. It is never shown again. */
  'hmac-key': z.string().max(1000).nullish(),
  enabled: z.boolean().optional(),
  'global-configuration': z
    .object({
      enabled: z.boolean().optional(),
      stages: stages.optional(),
      'enforcement-level': enforcementLevel.optional(),
    })
    .nullish(),
  /** Our own: PEM of the authorities that vouch for the receiver's certificate, beside the public ones. */
  'ca-certificate': z
    .string()
    .max(100_000)
    .regex(/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/, 'it must be one or more certificates in PEM')
    .or(z.literal(''))
    .nullish(),
})
const taskRelationships = z.object({
  'agent-pool': z
    .object({ data: z.object({ type: z.literal('agent-pools'), id: z.string().min(1) }).nullable() })
    .optional(),
})

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
  /** The older form of `stages`, for one. */
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

/**
 * The database keeps no null characters and no halves of surrogate pairs, and a receiver's verdict must not fail over one:
 * the replacement character takes their place.
 */
const text = z.string().transform((value) => value.toWellFormed().replaceAll('\0', '\u{FFFD}'))

/** What is shown wherever a run is. Whoever has more to say has the bodies of outcomes for it. */
const MAX_LINE = 65_536
const line = (name: string) =>
  text.refine((value) => value.length <= MAX_LINE, `${name} is too long (maximum is ${MAX_LINE} characters)`)

/** A link for people; receivers send an empty one where they have none. */
const link = line('url').refine((value) => value === '' || isWebUrl(value), {
  error: ({ input }) => `url is ${JSON.stringify(String(input).slice(0, 100))}, it must be an http or https URL`,
})

/** As a browser reads it, so that no control character hides what it would run. */
function isWebUrl(value: string) {
  return ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '')
}

export const OUTCOME_BODY_BYTES = 5 * 1024 * 1024

const tag = z.object({
  label: text,
  level: z
    .enum(['none', 'info', 'warning', 'error'])
    .nullish()
    .transform((level) => level ?? 'none'),
})

const outcome = z.object({
  type: z.literal('task-result-outcomes'),
  attributes: z.object({
    'outcome-id': text.pipe(z.string().min(1, "outcome-id can't be blank").max(500)),
    description: line('description'),
    /** Markdown. */
    body: text
      .refine((body) => new TextEncoder().encode(body).length <= OUTCOME_BODY_BYTES, 'the body is larger than 5 MB')
      .nullish(),
    url: link.nullish(),
    tags: z.record(text, z.array(tag)).nullish(),
  }),
})
export type TaskOutcome = z.infer<typeof outcome>['attributes']

const outcomes = z
  .object({
    data: z
      .array(outcome)
      .nullish()
      .transform((data) => data ?? []),
  })
  .nullish()

/** What a receiver calls back with. The relation goes by two names in the public documents. */
export const taskCallbackBody = requestBody(
  ['task-results', 'task_results'],
  z.object({
    status: z.enum(['passed', 'failed', 'running']),
    message: line('message').nullish(),
    url: link.nullish(),
  }),
  z.object({ outcomes, 'task-result-outcomes': outcomes }),
)
export type TaskCallback = z.infer<typeof taskCallbackBody>['data']
