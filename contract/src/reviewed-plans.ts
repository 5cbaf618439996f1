import { z } from 'zod'
import { type Written, hasOne, nullable, resource } from './responses.ts'

/**
 * - `pending`: the run has no finished plan, or its comparison with the reviewed one is under way
 * - `identical`: the plan has the changes that were reviewed in the pull request
 * - `different`: it has not
 * - `unreviewed`: no finished plan of a pull request belongs to the commit
 * - `unknown`: they cannot be compared, since the JSON of one of the plans is not available
 */
export const REVIEW_RESULTS = ['pending', 'identical', 'different', 'unreviewed', 'unknown'] as const
export type ReviewResult = (typeof REVIEW_RESULTS)[number]

/** Differences that a response lists at most. */
export const MAX_DIFFERENCES = 200

const actions = z.array(z.string()).describe('as in the JSON of plans, such as `["delete", "create"]`; empty for none')
export const planDifference = z.strictObject({
  address: z.string().describe('of a resource, or `output.<name>`'),
  kind: z.enum(['added', 'removed', 'changed']).describe('what the plan does compared with the reviewed one'),
  'reviewed-actions': actions,
  'planned-actions': actions,
})
export type PlanDifference = z.infer<typeof planDifference>

/** Our own: whether the plan of a merged commit has the changes that were reviewed in its pull request. The id is that of the run. */
export const reviewedPlanSchema = resource('reviewed-plans', {
  name: 'ReviewedPlan',
  attributes: {
    result: z.enum(REVIEW_RESULTS),
    'pull-request-number': nullable.int,
    'pull-request-url': nullable.string,
    differences: z.array(planDifference).describe(`at most ${MAX_DIFFERENCES}`),
    'difference-count': z.int().describe('of all differences'),
  },
  relationships: { run: hasOne('runs'), 'reviewed-run': hasOne('runs') },
})
export type ReviewedPlanResource = Written<typeof reviewedPlanSchema>
