import type { UpdateOrganization } from '@groundstate/contract/organizations'
import { invalid } from '../../../errors.ts'

export function organizationSettingColumns(input: UpdateOrganization['attributes']) {
  return {
    collaborator_auth_policy: input['collaborator-auth-policy'],
    session_timeout: input['session-timeout'],
    session_remember: input['session-remember'],
    cost_estimation_enabled: input['cost-estimation-enabled'],
    assessments_enforced: input['assessments-enforced'],
    allow_force_delete_workspaces: input['allow-force-delete-workspaces'],
    send_passing_statuses: input['send-passing-statuses-for-untriggered-speculative-plans'],
    aggregated_commit_status_enabled: input['aggregated-commit-status-enabled'],
    speculative_plan_management_enabled: input['speculative-plan-management-enabled'],
    owners_team_saml_role_id: input['owners-team-saml-role-id'],
    user_tokens_enabled: input['user-tokens-enabled'],
    default_execution_mode: input['default-execution-mode'],
  }
}

/** Throws `invalid` unless the agent pool and the execution mode that uses it are overwritten together. */
export function checkOverwrites(pool: boolean | null | undefined, mode: boolean | null | undefined) {
  if (typeof pool !== 'boolean' || typeof mode !== 'boolean' || pool === mode) return
  // Clients match this text.
  throw invalid(
    'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
    '/data/attributes/setting-overwrites',
  )
}
