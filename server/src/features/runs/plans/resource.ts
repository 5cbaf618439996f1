import type { ApplyResource, PlanResource } from '@groundstate/contract/plans'
import { timestamps } from '../../tasks/task-results/resource.ts'
import { type UrlCtx, logUrl } from './artifact.ts'
import type { Phase } from './store.ts'

export function planResource(ctx: UrlCtx, plan: Phase): PlanResource {
  const self = `/api/v2/plans/${plan.id}`
  return {
    id: plan.id,
    type: 'plans',
    attributes: {
      ...phaseAttributes(ctx, plan),
      'has-changes': plan.has_changes,
      'json-deleted-at': plan.json_deleted_at,
      'generated-configuration': plan.generated_configuration,
      'structured-run-output-enabled': plan.structured_output,
      actions: { 'is-exportable': false },
      permissions: { 'can-export': false },
    },
    relationships: { 'state-versions': { data: [] }, exports: { data: [] } },
    links: { self, 'json-output': `${self}/json-output`, 'json-output-redacted': `${self}/json-output-redacted` },
  }
}

/** `hasErroredState` is left out where it is not known without reading the blob store. */
export function applyResource(ctx: UrlCtx, apply: Phase, { hasErroredState = false } = {}): ApplyResource {
  const self = `/api/v2/applies/${apply.id}`
  return {
    id: apply.id,
    type: 'applies',
    attributes: { ...phaseAttributes(ctx, apply), 'action-invocations': null, 'action-failures': null },
    relationships: {
      'state-versions': { data: apply.state_version_ids.map((id) => ({ id, type: 'state-versions' })) },
    },
    links: { self, ...(hasErroredState && { 'errored-state': `${self}/errored-state` }) },
  }
}

function phaseAttributes(ctx: UrlCtx, phase: Phase) {
  return {
    status: phase.status,
    'status-timestamps': phaseTimestamps(phase.status_timestamps as Record<string, string>),
    'log-read-url': logUrl(ctx, phase.id),
    'log-deleted-at': phase.log_deleted_at,
    'resource-additions': phase.resource_additions,
    'resource-changes': phase.resource_changes,
    'resource-destructions': phase.resource_destructions,
    'resource-imports': phase.resource_imports,
    'execution-details': executionDetails(phase),
  }
}

/** The timestamp of `running` is `started-at` in the API. */
function phaseTimestamps({ running, ...stamps }: Record<string, string>) {
  return timestamps({ ...(running !== undefined && { started: running }), ...stamps })
}

function executionDetails(phase: Phase) {
  if (phase.executed_by === null) return null
  return {
    mode: phase.execution_mode,
    'agent-id': phase.executed_by,
    'agent-name': phase.agent_name,
    'agent-pool-id': phase.agent_pool_id,
    'agent-pool-name': phase.agent_pool_name,
  }
}
