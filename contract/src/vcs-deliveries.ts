import { z } from 'zod'
import { type Written, hasOne, linkedResource, nullable, resource, timestamp } from './responses.ts'
import { exchangeAttributes } from './run-tasks.ts'

/** Why a delivery started a run in a workspace, or why not, as text for users; `{}` is replaced by the detail of the decision. */
export const DECISION_REASONS = {
  pushed: 'pushed to {}',
  tagged: 'the tag {} matches',
  'pull-request': 'pull request {}',
  'branch-deleted': 'the branch was deleted',
  'tag-deleted': 'the tag was deleted',
  'pull-request-closed': 'the pull request is closed',
  'other-branch': 'the workspace follows the branch {}',
  'other-base': 'the pull request is for another branch: the workspace follows {}',
  'tags-only': 'the workspace follows tags that match {}, not branches',
  'no-tags': 'the workspace follows the branch {}, not tags',
  'other-tag': 'the tag does not match {}',
  'no-matching-files': 'no changed file matches {}',
  'same-commit': 'the workspace already has a run for this commit: {}',
  'no-first-run': 'the workspace has had no run yet: start the first one, or set queue-all-runs',
  'from-fork': 'pull requests from forks are not planned: the connection does not allow it',
  'no-speculative-plans': 'speculative plans are disabled in the workspace',
  'local-execution': 'the execution mode is local: runs execute on the client',
  'not-in-scope': 'the connection is not for the project of the workspace',
  'merge-conflict': 'the pull request conflicts with its base in {}',
  failed: '{}',
} as const satisfies Record<string, string>
export type DecisionReason = keyof typeof DECISION_REASONS

/** The reason in words. */
export function describeReason(reason: DecisionReason, detail: string | null) {
  return DECISION_REASONS[reason].replace('{}', () => detail ?? '')
}

const reason = z.enum(Object.keys(DECISION_REASONS) as [DecisionReason, ...DecisionReason[]])

export const DELIVERY_SOURCES = ['webhook', 'polling', 'replay'] as const
export const DELIVERY_STATUSES = ['pending', 'decided', 'ignored', 'failed'] as const
export const DECISIONS = ['run', 'plan', 'skip'] as const

/** Our own: something that a host reported about a repository, or that polling found. */
export const vcsDeliverySchema = linkedResource('vcs-deliveries', {
  name: 'VcsDelivery',
  attributes: {
    'received-at': timestamp,
    'decided-at': nullable.time,
    source: z.enum(DELIVERY_SOURCES),
    status: z.enum(DELIVERY_STATUSES),
    message: nullable.string.describe('why it was ignored or failed'),
    'repository-identifier': z.string(),
    kind: z.enum(['push', 'tag', 'pull-request']).nullable(),
    title: z.string().describe('what happened, such as `push to main`'),
    'commit-sha': nullable.string,
    'commit-url': nullable.string,
    'sender-username': nullable.string,
    'run-count': z.int().describe('runs that it started, of all workspaces'),
    'publication-count': z.int().describe('versions of modules and policy sets that it published'),
    'skip-count': z.int().describe('workspaces that it did not start a run in'),
  },
  relationships: { 'oauth-client': hasOne('oauth-clients') },
})
export type VcsDeliveryResource = Written<typeof vcsDeliverySchema>

/** Our own: what a delivery did in a workspace, and why. */
export const vcsDecisionSchema = resource('vcs-decisions', {
  attributes: {
    decision: z.enum(DECISIONS).describe('`run`, speculative `plan`, or `skip`'),
    reason,
    description: z.string().describe('the reason in words'),
  },
  relationships: { delivery: hasOne('vcs-deliveries'), workspace: hasOne('workspaces'), run: hasOne('runs') },
})
export type VcsDecisionResource = Written<typeof vcsDecisionSchema>

/** Our own: a request that set the status of a commit at its host, and the response. */
export const commitStatusDeliverySchema = resource('commit-status-deliveries', {
  attributes: {
    'commit-sha': z.string(),
    kind: z.enum(['run', 'plan']).describe('the status of a run, or of a speculative plan'),
    status: z.enum(['succeeded', 'failed']),
    ...exchangeAttributes,
    error: nullable.string.describe('why there is no response'),
  },
  relationships: { workspace: hasOne('workspaces'), run: hasOne('runs') },
})
export type CommitStatusDeliveryResource = Written<typeof commitStatusDeliverySchema>
