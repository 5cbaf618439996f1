import { z } from 'zod'
import { PHASE_STATUS } from './phase-status.ts'
import { type Written, hasMany, resource, statusTimestamps, timestamp } from './responses.ts'

const count = z.int().nullable()

/** The attributes that plans and applies share. Counts are null until the agent has reported them. */
export const phaseAttributes = {
  status: z.enum(PHASE_STATUS).describe('`unreachable` when the run ended before it'),
  'status-timestamps': statusTimestamps,
  'log-read-url': z.string().describe('where the log can be read without a token, for about a day'),
  'log-deleted-at': timestamp.nullable().describe('our own: since when the log is no longer kept'),
  'resource-additions': count,
  'resource-changes': count,
  'resource-destructions': count,
  'resource-imports': count,
  'execution-details': z
    .strictObject({
      mode: z.enum(['remote', 'agent']).describe("`remote` for the server's own agents, `agent` for those of a pool"),
      'agent-id': z.string(),
      'agent-name': z.string().nullable(),
      'agent-pool-id': z.string(),
      'agent-pool-name': z.string().nullable(),
    })
    .nullable()
    .describe('the agent that worked on it last; null before one has begun'),
}

export const planSchema = resource(
  'plans',
  {
    attributes: {
      ...phaseAttributes,
      'has-changes': z.boolean(),
      'json-deleted-at': timestamp.nullable().describe('our own: since when the plan is no longer kept as JSON'),
      'generated-configuration': z.boolean().describe('whether the plan has written configuration'),
      'structured-run-output-enabled': z.boolean().describe("whether the log is the engine's JSON lines"),
      actions: z.strictObject({ 'is-exportable': z.literal(false) }),
      permissions: z.strictObject({ 'can-export': z.literal(false) }),
    },
    relationships: {
      'state-versions': hasMany('state-versions').describe('always empty: a plan creates none'),
      exports: hasMany('plan-exports').describe('always empty: plans are not exported'),
    },
    links: { self: z.string(), 'json-output': z.string(), 'json-output-redacted': z.string() },
  },
  'Plan',
)
export type PlanResource = Written<typeof planSchema>

/** The plan in the engine's `show -json` format. */
export const planJsonResponse = z.record(z.string(), z.json()).meta({ id: 'PlanJson' })

/** The plan without sensitive values, with the provider schemas needed to render it: see `redacted-plan.ts`. */
export const redactedPlanJsonResponse = z.record(z.string(), z.json()).meta({ id: 'RedactedPlanJson' })
