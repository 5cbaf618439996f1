import { z } from 'zod'
import { boundedList, requestBody, resourceId, toOne } from './json-api.ts'
import { policyOutcome, resultCount } from './policies.ts'
import { policiesPath } from './policy-sets.ts'
import { type Written, hasOne, linkedResource, nullable, resource, timestamp } from './responses.ts'

/* Policies evaluated against past runs, which they do not affect. Our own. */

export const POLICY_TRIAL_STATUS = ['pending', 'running', 'finished', 'errored', 'canceled'] as const
export type PolicyTrialStatus = (typeof POLICY_TRIAL_STATUS)[number]

/** The result of a run. A policy that could not be evaluated makes it `errored` if it is mandatory, otherwise `warned`. */
export const POLICY_TRIAL_RUN_STATUS = ['pending', 'passed', 'warned', 'stopped', 'errored'] as const
export type PolicyTrialRunStatus = (typeof POLICY_TRIAL_RUN_STATUS)[number]

/** Maximum number of runs that a request names. */
const MAX_NAMED_RUNS = 100

const runs = z.object({
  data: boundedList(z.object({ type: z.literal('runs'), id: resourceId }), MAX_NAMED_RUNS).refine(
    (list) => list.length > 0,
    'data is empty: at least one run is needed',
  ),
})

export const createPolicyTrialBody = requestBody(
  'policy-trials',
  z.object({
    /** By default that of the set, or the root. */
    'policies-path': policiesPath.nullish(),
    /** By default that of the set, or `latest`. */
    'policy-tool-version': z.string().max(100).nullish(),
  }),
  z.object({
    /** By default those to which the set would have applied in the last 30 days. */
    runs: runs.optional(),
    /** The set whose parameters the policies get. */
    'policy-set': toOne('policy-sets').optional(),
  }),
)
export type CreatePolicyTrial = z.infer<typeof createPolicyTrialBody>['data']

export const policyTrialSchema = resource('policy-trials', {
  attributes: {
    status: z.enum(POLICY_TRIAL_STATUS).describe('`pending` until its archive is uploaded, `errored` if it is invalid'),
    source: z.enum(['upload', 'policy-set']).describe('whether the policies are those of an archive or of the set'),
    'error-message': nullable.string,
    'policy-set-name': nullable.string,
    'policies-path': nullable.string,
    'policy-tool-version': z.string().describe('the requested version of OPA, or `latest`'),
    'run-counts': z.strictObject({
      total: z.int(),
      evaluated: z.int(),
      passed: z.int(),
      warned: z.int().describe('an advisory policy failed'),
      stopped: z.int().describe('a mandatory policy failed: it would have stopped the run'),
      errored: z.int().describe('a mandatory policy could not be evaluated'),
    }),
    'omitted-runs': z
      .strictObject({
        unreadable: z.int().describe('the caller may not read their plans'),
        'without-plan': z.int().describe('they have no plan as JSON, or it is no longer kept'),
        older: z.int().describe('more than the 200 newest'),
      })
      .describe('runs of the last 30 days that are left out, by reason'),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: {
    organization: hasOne('organizations'),
    'policy-set': hasOne('policy-sets'),
    'created-by': hasOne('users'),
  },
  links: {
    self: z.string(),
    upload: z.string().optional().describe('for the archive, a tar.gz; needs no token. Only while it is pending'),
  },
})
export type PolicyTrialResource = Written<typeof policyTrialSchema>

export const policyTrialRunSchema = linkedResource('policy-trial-runs', {
  attributes: {
    status: z.enum(POLICY_TRIAL_RUN_STATUS),
    overridable: z.boolean().describe('whether the failure could have been overridden'),
    error: nullable.string.describe('why nothing was evaluated'),
    outcomes: z.array(policyOutcome).describe('those of policies that did not pass'),
    result_count: resultCount,
    'policy-tool-version': nullable.string.describe('the version of OPA that evaluated'),
    'workspace-name': z.string(),
    'run-message': z.string(),
    'run-created-at': timestamp,
  },
  relationships: {
    'policy-trial': hasOne('policy-trials'),
    run: hasOne('runs'),
    workspace: hasOne('workspaces'),
  },
})
export type PolicyTrialRunResource = Written<typeof policyTrialRunSchema>
