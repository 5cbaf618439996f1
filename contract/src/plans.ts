import { z } from 'zod'
import { type Written, hasMany, nullable, resource, statusTimestamps } from './responses.ts'
import { PHASE_STATUS } from './run-status.ts'

const count = nullable.int

/** The attributes that plans and applies share. Counts are null until the agent has reported them. */
const phaseAttributes = {
  status: z.enum(PHASE_STATUS).describe('`unreachable` when the run ended before it'),
  'status-timestamps': statusTimestamps,
  'log-read-url': z
    .string()
    .describe(
      'URL of the log; needs no token and is valid for about a day, while the user who got it may read the run',
    ),
  'log-deleted-at': nullable.time.describe('our own: when the log was deleted'),
  'resource-additions': count,
  'resource-changes': count,
  'resource-destructions': count,
  'resource-imports': count,
  'execution-details': z
    .strictObject({
      mode: z.enum(['remote', 'agent']).describe("`remote` for the server's own agents, `agent` for those of a pool"),
      'agent-id': z.string(),
      'agent-name': nullable.string,
      'agent-pool-id': z.string(),
      'agent-pool-name': nullable.string,
    })
    .nullable()
    .describe('the agent that ran it last; null before it started'),
}

export const planSchema = resource('plans', {
  attributes: {
    ...phaseAttributes,
    'has-changes': z.boolean(),
    'json-deleted-at': nullable.time.describe('our own: when the JSON plan was deleted'),
    'generated-configuration': z.boolean().describe('whether the plan generated configuration'),
    'structured-run-output-enabled': z.boolean().describe("whether the log is the engine's JSON lines"),
    actions: z.strictObject({ 'is-exportable': z.literal(false) }),
    permissions: z.strictObject({ 'can-export': z.literal(false) }),
  },
  relationships: {
    'state-versions': hasMany('state-versions').describe('always empty: a plan creates none'),
    exports: hasMany('plan-exports').describe('always empty: plans are not exported'),
  },
  links: { self: z.string(), 'json-output': z.string(), 'json-output-redacted': z.string() },
})
export type PlanResource = Written<typeof planSchema>

export const planJsonResponse = z.record(z.string(), z.json()).meta({ id: 'PlanJson' })

/** The plan without sensitive values, with the provider schemas needed to render it: see `redacted-plan.ts`. */
export const redactedPlanJsonResponse = z.record(z.string(), z.json()).meta({ id: 'RedactedPlanJson' })

export const applySchema = resource('applies', {
  attributes: { ...phaseAttributes, 'action-invocations': z.null(), 'action-failures': z.null() },
  relationships: {
    'state-versions': hasMany('state-versions').describe('the state versions that the apply created'),
  },
  links: {
    self: z.string(),
    'errored-state': z
      .string()
      .optional()
      .describe(
        'our own, of `GET /applies/{id}` only: the state that the engine could not store, if there is one that you may read',
      ),
  },
})
export type ApplyResource = Written<typeof applySchema>

/** The state that the engine could not store at the end of an apply, in raw format. */
export const erroredStateResponse = z.record(z.string(), z.json()).meta({ id: 'ErroredState' })
