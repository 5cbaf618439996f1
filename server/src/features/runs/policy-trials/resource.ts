import type { PolicyOutcome } from '@groundstate/contract/policies'
import type { PolicyTrialResource, PolicyTrialRunResource } from '@groundstate/contract/policy-trials'
import { resultCount } from '../../policies/policy-evaluations/resource.ts'
import type { ResultRow } from './result-store.ts'
import type { TrialRow } from './store.ts'

/** `upload` is the URL for the archive, while it is awaited. */
export function policyTrialResource(trial: TrialRow, upload?: string): PolicyTrialResource {
  const { policy_set_id: setId, created_by_user_id: userId } = trial
  const { pending, total, ...counts } = trial.counts
  return {
    id: trial.id,
    type: 'policy-trials',
    attributes: {
      status: trial.status,
      source: trial.source,
      'error-message': trial.error_message,
      'policy-set-name': trial.policy_set_name,
      'policies-path': trial.policies_path || null,
      'policy-tool-version': trial.policy_tool_version,
      'run-counts': { total, evaluated: total - pending, ...counts },
      'omitted-runs': {
        unreadable: trial.unreadable_runs,
        'without-plan': trial.planless_runs,
        older: trial.older_runs,
      },
      'created-at': trial.created_at,
      'updated-at': trial.updated_at,
    },
    relationships: {
      organization: { data: { id: trial.organization_name, type: 'organizations' } },
      'policy-set': { data: setId === null ? null : { id: setId, type: 'policy-sets' } },
      'created-by': { data: userId === null ? null : { id: userId, type: 'users' } },
    },
    links: { self: `/api/v2/policy-trials/${trial.id}`, ...(upload !== undefined && { upload }) },
  }
}

export function policyTrialRunResource(row: ResultRow): PolicyTrialRunResource {
  return {
    id: row.id,
    type: 'policy-trial-runs',
    attributes: {
      status: row.status,
      overridable: row.overridable,
      error: row.error,
      outcomes: row.outcomes as PolicyOutcome[],
      result_count: resultCount(row),
      'policy-tool-version': row.tool_version,
      'workspace-name': row.workspace_name,
      'run-message': row.message,
      'run-created-at': row.run_created_at,
    },
    relationships: {
      'policy-trial': { data: { id: row.policy_trial_id, type: 'policy-trials' } },
      run: { data: { id: row.run_id, type: 'runs' } },
      workspace: { data: { id: row.workspace_id, type: 'workspaces' } },
    },
    links: { self: `/api/v2/policy-trials/${row.policy_trial_id}/runs` },
  }
}
