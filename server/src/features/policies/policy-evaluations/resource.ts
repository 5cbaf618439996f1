import type * as contract from '@groundstate/contract/policies'
import { timestamps } from '../../tasks/task-results/resource.ts'
import type { EvaluationRow, OutcomeRow } from './store.ts'

export function policyEvaluationResource(row: EvaluationRow): contract.PolicyEvaluationResource {
  return {
    id: row.id,
    type: 'policy-evaluations',
    attributes: {
      status: row.status,
      'policy-kind': 'opa',
      'policy-tool-version': row.tool_version,
      'status-timestamps': timestamps(row.status_timestamps as Record<string, string>),
      'created-at': row.created_at,
      'updated-at': row.updated_at,
      'result-count': resultCount(row),
      message: row.message,
      'override-comment': row.override_comment,
    },
    relationships: {
      'policy-attachable': { data: { id: row.task_stage_id, type: 'task-stages' } },
      'policy-set-outcomes': { data: row.outcome_ids.map((id) => ({ id, type: 'policy-set-outcomes' })) },
      'overridden-by': {
        data: row.overridden_by_user_id === null ? null : { id: row.overridden_by_user_id, type: 'users' },
      },
    },
    links: { self: `/api/v2/policy-evaluations/${row.id}` },
  }
}

type Counts = Pick<EvaluationRow, 'passed' | 'advisory_failed' | 'mandatory_failed' | 'errored'>

export function resultCount({ passed, advisory_failed, mandatory_failed, errored }: Counts) {
  return { passed, 'advisory-failed': advisory_failed, 'mandatory-failed': mandatory_failed, errored }
}

/** The command line prints the description of a policy only, so it has the reason why a policy could not be evaluated. */
function shownOutcome(outcome: contract.PolicyOutcome): contract.PolicyOutcome {
  const { error, description } = outcome
  if (error === null) return outcome
  const [reason = ''] = error.split('\n')
  return {
    ...outcome,
    description: `could not be evaluated: ${reason}${description === '' ? '' : ` (${description})`}`,
  }
}

export function policySetOutcomeResource(row: OutcomeRow): contract.PolicySetOutcomeResource {
  const { policy_set_id: setId, policy_set_version_id: versionId } = row
  return {
    id: row.id,
    type: 'policy-set-outcomes',
    attributes: {
      outcomes: (row.outcomes as contract.PolicyOutcome[]).map(shownOutcome),
      error: row.error,
      overridable: row.overridable,
      'policy-set-name': row.policy_set_name,
      'policy-set-description': row.policy_set_description,
      result_count: resultCount(row),
      'commit-sha': row.commit_sha,
      'commit-url': row.commit_url,
    },
    relationships: {
      'policy-evaluation': { data: { id: row.policy_evaluation_id, type: 'policy-evaluations' } },
      'policy-set': { data: setId === null ? null : { id: setId, type: 'policy-sets' } },
      'policy-set-version': { data: versionId === null ? null : { id: versionId, type: 'policy-set-versions' } },
    },
    links: { self: `/api/v2/policy-set-outcomes/${row.id}` },
  }
}
