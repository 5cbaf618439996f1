import { z } from 'zod'
import { hasMany, hasOne, nullable, resource, statusTimestamps, timestamp } from './responses.ts'

// Policies are not evaluated, so lists of policy checks and evaluations are always empty. These are the schemas of the public API.

const counts = (...names: readonly string[]) => z.strictObject(Object.fromEntries(names.map((name) => [name, z.int()])))

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

export const policyEvaluationSchema = resource('policy-evaluations', {
  attributes: {
    status: z.string(),
    'policy-kind': z.string(),
    'status-timestamps': statusTimestamps,
    'created-at': timestamp,
    'updated-at': timestamp,
    'result-count': counts('advisory-failed', 'mandatory-failed', 'passed', 'errored'),
  },
  relationships: {
    'policy-attachable': hasOne('task-stages'),
    'policy-set-outcomes': hasMany('policy-set-outcomes'),
  },
})
