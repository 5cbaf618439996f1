import { z } from 'zod'
import { boundedList, requestBody } from './json-api.ts'
import { resourceName } from './organizations.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  nullable,
  resource,
  statusTimestamps,
  timestamp,
} from './responses.ts'

const counts = (...names: readonly string[]) => z.strictObject(Object.fromEntries(names.map((name) => [name, z.int()])))

/** Results of Sentinel in the public API. This server evaluates with OPA only, so there are none. */
export const policyCheckSchema = resource('policy-checks', {
  attributes: {
    scope: z.string(),
    status: z.string(),
    'status-timestamps': statusTimestamps,
    result: counts('passed', 'total-failed', 'hard-failed', 'soft-failed', 'advisory-failed', 'duration-ms')
      .extend({ result: z.boolean(), sentinel: z.record(z.string(), z.unknown()).nullable() })
      .nullable(),
    actions: z.strictObject({ 'is-overridable': z.boolean() }),
    permissions: z.strictObject({ 'can-override': z.boolean() }),
  },
  relationships: { run: hasOne('runs') },
  links: { output: nullable.string },
})

export const POLICY_EVALUATION_STATUS = [
  'pending',
  'running',
  'passed',
  'failed',
  'overridden',
  'errored',
  'canceled',
  'unreachable',
] as const
export type PolicyEvaluationStatus = (typeof POLICY_EVALUATION_STATUS)[number]

export const resultCount = z.strictObject({
  'advisory-failed': z.int(),
  'mandatory-failed': z.int(),
  passed: z.int(),
  errored: z.int(),
})

export const policyEvaluationSchema = linkedResource('policy-evaluations', {
  attributes: {
    status: z
      .enum(POLICY_EVALUATION_STATUS)
      .describe('`failed` if a mandatory policy failed; `unreachable` when the run ended before'),
    'policy-kind': z.literal('opa'),
    'policy-tool-version': nullable.string.describe('the version of OPA that evaluated'),
    'status-timestamps': statusTimestamps,
    'created-at': timestamp,
    'updated-at': timestamp,
    'result-count': resultCount,
    message: nullable.string.describe('our own: why nothing was evaluated'),
    'override-comment': nullable.string.describe('our own'),
  },
  relationships: {
    'policy-attachable': hasOne('task-stages'),
    'policy-set-outcomes': hasMany('policy-set-outcomes'),
    'overridden-by': hasOne('users').describe('our own'),
  },
})
export type PolicyEvaluationResource = Written<typeof policyEvaluationSchema>

/** The statuses of a policy in an outcome. */
export const POLICY_STATUS = ['passed', 'failed', 'errored'] as const

/** The names of the attributes are those of the public API, some with underscores. */
export const policyOutcome = z.strictObject({
  policy_name: z.string(),
  query: z.string(),
  enforcement_level: z.enum(['advisory', 'mandatory']),
  status: z.enum(POLICY_STATUS),
  description: z.string(),
  output: z
    .array(z.strictObject({ print: z.string() }))
    .describe('the elements that the query returned, without sensitive values'),
  omitted: z.int().describe('our own: number of elements that `output` leaves out'),
  error: nullable.string.describe('our own: why the policy was not evaluated'),
})
export type PolicyOutcome = z.infer<typeof policyOutcome>

export const policySetOutcomeSchema = linkedResource('policy-set-outcomes', {
  attributes: {
    outcomes: z.array(policyOutcome),
    error: nullable.string,
    overridable: z.boolean(),
    'policy-set-name': z.string(),
    'policy-set-description': z.string(),
    result_count: resultCount,
    'commit-sha': nullable.string.describe('our own: the commit of the rules; null for an upload'),
    'commit-url': nullable.string.describe('our own'),
  },
  relationships: {
    'policy-evaluation': hasOne('policy-evaluations'),
    'policy-set': hasOne('policy-sets').describe('our own; null once it is deleted'),
    'policy-set-version': hasOne('policy-set-versions').describe('our own'),
  },
})
export type PolicySetOutcomeResource = Written<typeof policySetOutcomeSchema>

/** The kinds of the public API that this server does not evaluate. */
const OTHER_KINDS: Record<string, string> = {
  sentinel: 'Sentinel',
  tfpolicy: 'the policy language of Terraform',
}

/** Only OPA evaluates policies here; other kinds are rejected by name. */
export const policyKind = z
  .string()
  // A refinement, since its message is sent unchanged.
  .refine((kind) => kind === 'opa', {
    error: ({ input }) => {
      const name = OTHER_KINDS[String(input)]
      const reason = name === undefined ? '' : ` (${name} is not supported by this server)`
      return `kind is ${JSON.stringify(input)}${reason}; it must be opa: write the policies in Rego, for the Open Policy Agent`
    },
  })
  .meta({ enum: ['opa'] })

export const POLICY_LEVELS = ['advisory', 'mandatory'] as const
export const policyLevel = z.enum(POLICY_LEVELS)
export type PolicyLevel = z.infer<typeof policyLevel>

/** Maximum size of a policy's code, in bytes. */
export const POLICY_BYTES = 1024 * 1024
export const QUERY_MAX = 1000

export const policyQuery = z
  .string()
  .trim()
  .min(1, "query can't be blank: it is what OPA evaluates, such as data.terraform.policies.deny")
  .max(QUERY_MAX)
  .refine((query) => !query.includes('\0'), { error: 'query must not contain null bytes' })

const enforce = boundedList(z.object({ path: z.string().max(1000).nullish(), mode: policyLevel }), 1)

const policyAttributes = z.object({
  name: resourceName('Name', 255),
  description: z
    .string()
    .max(5000)
    .refine((text) => !text.includes('\0'), { error: 'description must not contain null bytes' })
    .nullish(),
  kind: policyKind.optional(),
  query: policyQuery.optional(),
  'enforcement-level': policyLevel.nullish(),
  /** The older form of `enforcement-level`: a list with one item. */
  enforce: enforce.nullish(),
})

export const createPolicyBody = requestBody('policies', policyAttributes)
export type CreatePolicy = z.infer<typeof policyAttributes>
export const updatePolicyBody = requestBody('policies', policyAttributes.omit({ name: true, kind: true }))
export type UpdatePolicy = z.infer<typeof updatePolicyBody>['data']['attributes']

export const policySchema = resource('policies', {
  attributes: {
    name: z.string(),
    description: z.string(),
    kind: z.literal('opa'),
    query: z.string().describe('an empty result of OPA passes'),
    'enforcement-level': policyLevel,
    enforce: z
      .array(z.strictObject({ path: z.string(), mode: policyLevel }))
      .describe('the older form of `enforcement-level`; empty until its code has been uploaded'),
    'policy-set-count': z.int(),
    'created-at': timestamp.describe('our own'),
    'updated-at': timestamp,
    'is-uploaded': z.boolean().describe('our own: whether its code has been uploaded'),
  },
  relationships: {
    organization: hasOne('organizations'),
    'policy-sets': hasMany('policy-sets'),
  },
  links: {
    self: z.string(),
    upload: z.string(),
    download: z.string().optional().describe('only when its code has been uploaded'),
  },
})
export type PolicyResource = Written<typeof policySchema>
