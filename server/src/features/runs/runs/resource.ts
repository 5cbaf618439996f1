import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { RunResource } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import { timestamps } from '../../tasks/task-results/resource.ts'
import { openTasks, waitingReason } from '../../workspaces/workspaces/waiting.ts'
import type { Run } from './access.ts'
import { isCancelable, isConfirmable, isDiscardable, isForceCancelable } from './machine.ts'

type RunVariables = RunResource['attributes']['variables']

export function runResource(ctx: Pick<Ctx, 'now'>, run: Run): RunResource {
  const now = ctx.now()
  const self = `/api/v2/runs/${run.id}`
  return {
    id: run.id,
    type: 'runs',
    attributes: {
      actions: actionsBlock(run, now),
      'allow-config-generation': run.allow_config_generation,
      'allow-empty-apply': run.allow_empty_apply,
      'auto-apply': run.auto_apply,
      'canceled-at': RUN_STATUS_TABLE[run.status].group === 'stopped' ? run.cancel_requested_at : null,
      'created-at': run.created_at,
      'debugging-mode': run.debugging_mode,
      'error-message': run.error,
      'force-cancel-available-at': run.force_cancel_available_at,
      'has-changes': run.has_changes,
      'is-destroy': run.is_destroy,
      message: run.message,
      permissions: permissionsBlock(run),
      'plan-only': run.plan_only,
      // Not supported: policies from the configuration, and invoking single actions.
      'policy-paths': [],
      'invoke-action-addrs': [],
      refresh: run.refresh,
      'refresh-only': run.refresh_only,
      'replace-addrs': run.replace_addrs,
      'save-plan': run.save_plan,
      source: run.source,
      status: run.status,
      'status-timestamps': runTimestamps(run.status_timestamps as Record<string, string>),
      'target-addrs': run.target_addrs,
      'trigger-reason': run.trigger_reason,
      'triggering-source-name': run.triggering_workspace_name,
      'terraform-version': run.engine_version,
      'engine-version': run.engine_version,
      'updated-at': run.updated_at,
      variables: run.can.has('variables:read') ? (run.variables as RunVariables) : [],
      'waiting-reason': waitingReason(run.waiting, { tasks: openTasks(run.task_stages), now }),
    },
    relationships: relationships(run, self),
    links: { self },
  }
}

function relationships(run: Run, self: string): RunResource['relationships'] {
  const toOne = <Type extends string>(id: string | null, type: Type) => ({ data: id === null ? null : { id, type } })
  return {
    workspace: toOne(run.workspace_id, 'workspaces'),
    plan: { ...toOne(run.plan_id, 'plans'), links: { related: `${self}/plan` } },
    apply: { ...toOne(run.apply_id, 'applies'), links: { related: `${self}/apply` } },
    'configuration-version': {
      ...toOne(run.configuration_version_id, 'configuration-versions'),
      links: { related: `${self}/configuration-version` },
    },
    'created-by': toOne(run.created_by_user_id, 'users'),
    'confirmed-by': toOne(run.confirmed_by_user_id, 'users'),
    'canceled-by': toOne(run.canceled_by_user_id, 'users'),
    'triggering-run': toOne(run.triggering_run_id, 'runs'),
    'triggering-source': toOne(run.triggering_workspace_id, 'workspaces'),
    'triggering-runs': { data: run.triggering_run_ids.map((id) => ({ id, type: 'runs' })) },
    // Costs are not estimated. Clients would wait for an estimate if this were not null.
    'cost-estimate': { data: null },
    'tf-policy-evaluations': { data: [] },
    'policy-checks': { data: [], links: { related: `${self}/policy-checks` } },
    'task-stages': {
      data: (run.task_stages?.ids ?? []).map((id) => ({ id, type: 'task-stages' })),
      links: { related: `${self}/task-stages` },
    },
    'run-events': {
      ...(run.run_event_ids && { data: run.run_event_ids.map((id) => ({ id, type: 'run-events' })) }),
      links: { related: `${self}/run-events` },
    },
    comments: {
      data: run.comment_ids.map((id) => ({ id, type: 'comments' })),
      links: { related: `${self}/comments` },
    },
  }
}

function actionsBlock(run: Run, now: Date) {
  const isStale = run.save_plan && run.base_state_version_id !== run.current_state_version_id
  return {
    'is-cancelable': isCancelable(run),
    'is-confirmable': isConfirmable(run) && !isStale,
    'is-discardable': isDiscardable(run),
    'is-force-cancelable': isForceCancelable(run, now),
  }
}

function permissionsBlock({ can, plan_only }: Run) {
  const mayEnd = can.has('runs:apply') || (plan_only && can.has('runs:plan'))
  return {
    'can-apply': can.has('runs:apply'),
    'can-cancel': mayEnd,
    'can-comment': can.has('runs:read'),
    'can-discard': mayEnd,
    'can-force-execute': can.has('runs:apply'),
    'can-force-cancel': can.has('force-unlock'),
    'can-override-policy-check': can.has('policy-overrides'),
  }
}

/** `plan_queued` → `plan-queued-at`; two statuses have other names in the API. */
function runTimestamps(stamps: Record<string, string>) {
  const { fetching_completed: fetched, queuing } = stamps
  return {
    ...timestamps(stamps),
    ...(fetched !== undefined && { 'fetched-at': fetched }),
    ...(queuing !== undefined && { 'plan-queueable-at': queuing }),
  }
}
