import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { WorkspaceResource } from '@groundstate/contract/workspaces'
import { policyIdentifier } from '../../organizations/organizations/resource.ts'
import { repositoryAttributes } from '../../vcs/repositories/resource.ts'
import { type Workspace, permissionsBlock } from './access.ts'
import { effectiveAutoDestroy, effectiveExecution } from './settings.ts'
import type { Details } from './store.ts'

const LOCK_TYPES = { user: 'users', team: 'teams', run: 'runs' } as const

type Shown = { waitingReason?: string | null; details?: Details | undefined }

/** `waitingReason` is not in the public API; it is present where the workspace itself was requested. `details` are those of a single one. */
export function workspaceResource(workspace: Workspace, { waitingReason, details }: Shown = {}): WorkspaceResource {
  const { can } = workspace
  const { mode, agentPoolId } = effectiveExecution(workspace)
  const autoDestroy = effectiveAutoDestroy(workspace)
  const self = `/api/v2/workspaces/${workspace.id}`
  return {
    id: workspace.id,
    type: 'workspaces',
    attributes: {
      name: workspace.name,
      description: workspace.description,
      'created-at': workspace.created_at,
      'updated-at': workspace.updated_at,
      'latest-change-at': workspace.latest_change_at,
      environment: 'default',
      'execution-mode': mode,
      operations: mode !== 'local',
      'setting-overwrites': {
        'execution-mode': workspace.execution_mode !== null,
        'agent-pool': workspace.execution_mode !== null || workspace.agent_pool_id !== null,
      },
      'agent-pool-id': agentPoolId,
      'terraform-version': workspace.engine_version,
      'engine-version': workspace.engine_version,
      'working-directory': workspace.working_directory,
      'auto-apply': workspace.auto_apply,
      'auto-apply-run-trigger': workspace.auto_apply_run_trigger,
      'auto-apply-reviewed': workspace.auto_apply_reviewed,
      'trigger-only-on-output-change': workspace.trigger_only_on_output_change,
      'allow-destroy-plan': workspace.allow_destroy_plan,
      'can-queue-destroy-plan': workspace.allow_destroy_plan,
      'assessments-enabled': workspace.assessments_enabled,
      'file-triggers-enabled': workspace.file_triggers_enabled,
      'trigger-prefixes': workspace.trigger_prefixes,
      'trigger-patterns': workspace.trigger_patterns,
      'queue-all-runs': workspace.queue_all_runs,
      'speculative-enabled': workspace.speculative_enabled,
      'structured-run-output-enabled': workspace.structured_run_output_enabled,
      'global-remote-state': workspace.global_remote_state,
      'project-remote-state': workspace.project_remote_state,
      'auto-destroy-at': autoDestroy.at,
      'auto-destroy-activity-duration': autoDestroy.duration,
      'auto-destroy-status': null,
      'inherits-project-auto-destroy': autoDestroy.inherits,
      'migration-environment': null,
      source: workspace.source,
      'source-name': workspace.source_name,
      'source-url': workspace.source_url,
      'source-module-id': null,
      'no-code-upgrade-available': false,
      'has-configuration': workspace.current_configuration_version_id !== null,
      'vcs-repo': vcsRepoOf(workspace),
      'vcs-repo-identifier': workspace.repository?.identifier ?? null,
      'vcs-repo-problem': repositoryProblem(workspace),
      locked: workspace.locked_by_type !== null,
      'locked-at': workspace.locked_at,
      'locked-reason': workspace.locked_reason,
      'run-group': workspace.current_run_status && RUN_STATUS_TABLE[workspace.current_run_status].group,
      'has-drift': workspace.has_drift,
      'resource-count': workspace.resource_count,
      'apply-duration-average': workspace.kpi_apply_duration,
      'plan-duration-average': workspace.kpi_plan_duration,
      'policy-check-failures': workspace.kpi_run_count === null ? null : 0,
      'run-failures': workspace.kpi_failure_count,
      'workspace-kpis-runs-count': workspace.kpi_run_count,
      'last-assessment-result-at': null,
      'hyok-enabled': false,
      'tag-names': workspace.tag_names,
      'waiting-reason': waitingReason,
      actions: { 'is-destroyable': can.has('workspace:delete') },
      permissions: permissionsBlock(workspace),
    },
    relationships: {
      organization: { data: { id: workspace.organization_name, type: 'organizations' } },
      project: { data: { id: workspace.project_id, type: 'projects' } },
      'agent-pool': toOne(agentPoolId, 'agent-pools'),
      'ssh-key': toOne(workspace.ssh_key_id, 'ssh-keys'),
      'locked-by': toOne(workspace.locked_by_id, LOCK_TYPES[workspace.locked_by_type ?? 'user']),
      'current-run': toOne(workspace.current_run_id, 'runs'),
      'latest-run': toOne(workspace.latest_run_id, 'runs'),
      'current-configuration-version': toOne(
        workspace.current_configuration_version_id ?? details?.awaited_configuration_version_id ?? null,
        'configuration-versions',
      ),
      'current-state-version': {
        ...toOne(can.has('state-versions:read') ? workspace.current_state_version_id : null, 'state-versions'),
        links: { related: `${self}/current-state-version` },
      },
      'current-assessment-result': { data: null },
      readme: { data: null },
      outputs: { links: { related: `${self}/current-state-version-outputs` } },
      vars: {
        ...(details && can.has('variables:read') && { data: details.variable_ids.map((id) => ({ id, type: 'vars' })) }),
        links: { related: `${self}/vars` },
      },
      'remote-state-consumers': { links: { related: `${self}/relationships/remote-state-consumers` } },
      'data-retention-policy': policyIdentifier(workspace.retention_policy),
      'tag-bindings': { links: { related: `${self}/tag-bindings` } },
      'effective-tag-bindings': { links: { related: `${self}/effective-tag-bindings` } },
    },
    links: {
      self: `/api/v2/organizations/${workspace.organization_name}/workspaces/${workspace.name}`,
      'self-html': `/app/${workspace.organization_name}/workspaces/${workspace.name}`,
    },
  }
}

/** The webhook's URL is for those who may set it up. */
function vcsRepoOf(workspace: Workspace) {
  const { repository, vcs_tags_regex: tagsRegex, webhook_url: webhookUrl, can } = workspace
  if (!repository) return null
  return {
    ...repositoryAttributes(repository, can.has('workspace:update') ? webhookUrl : null),
    branch: workspace.vcs_branch ?? '',
    'ingress-submodules': workspace.vcs_submodules,
    tags: tagsRegex !== null,
    'tags-regex': tagsRegex,
  }
}

function repositoryProblem({ repository, vcs_branch: branch, vcs_tags_regex: tagsRegex }: Workspace) {
  if (!repository) return null
  if (repository.problem !== null || !repository.lacks_branch || tagsRegex !== null) return repository.problem
  const { display_identifier: name } = repository
  return branch === null ? `${name} has no commits` : `${name} has no branch ${branch}`
}

function toOne<const Type extends string>(id: string | null, type: Type) {
  return { data: id === null ? null : { id, type } }
}
