import type * as contract from '@groundstate/contract/run-triggers'
import type { DependencyGraph, TriggerChain } from './graphs.ts'
import type { RunTriggerRow } from './store.ts'

export function runTriggerResource(trigger: RunTriggerRow): contract.RunTriggerResource {
  return {
    id: trigger.id,
    type: 'run-triggers',
    attributes: {
      'workspace-name': trigger.workspace_name,
      'sourceable-name': trigger.source_name,
      'created-at': trigger.created_at,
      'last-fired-at': trigger.last_fired_at,
    },
    relationships: {
      workspace: { data: { id: trigger.workspace_id, type: 'workspaces' } },
      sourceable: { data: { id: trigger.source_id, type: 'workspaces' } },
    },
    links: { self: `/api/v2/run-triggers/${trigger.id}` },
  }
}

export function listedRunTriggerResource(
  trigger: RunTriggerRow & { mayDelete: boolean },
): contract.ListedRunTriggerResource {
  const resource = runTriggerResource(trigger)
  return { ...resource, attributes: { ...resource.attributes, permissions: { 'can-destroy': trigger.mayDelete } } }
}

export function triggerChainResource({ runId, runs, firings, truncated }: TriggerChain): contract.TriggerChainResource {
  return {
    id: runId,
    type: 'trigger-chains',
    attributes: { runs: runs.map(chainRun), firings: firings.map(chainFiring), truncated },
    relationships: { run: { data: { id: runId, type: 'runs' } } },
    links: { self: `/api/v2/runs/${runId}/trigger-chain` },
  }
}

type ChainAttributes = contract.TriggerChainResource['attributes']

function chainRun(run: TriggerChain['runs'][number]): ChainAttributes['runs'][number] {
  const shown = <T>(value: T) => (run.is_readable ? value : null)
  return {
    id: run.id,
    depth: run.trigger_depth,
    'is-readable': run.is_readable,
    'workspace-id': shown(run.workspace_id),
    'workspace-name': shown(run.workspace_name),
    status: shown(run.status),
    message: shown(run.message),
    'created-at': shown(run.created_at),
    'updated-at': shown(run.updated_at),
  }
}

function chainFiring(firing: TriggerChain['firings'][number]): ChainAttributes['firings'][number] {
  const shown = <T>(value: T) => (firing.is_readable ? value : null)
  return {
    'source-run-id': firing.source_run_id,
    'run-id': firing.run_id,
    'workspace-id': shown(firing.workspace_id),
    'workspace-name': shown(firing.workspace_name),
    status: firing.status,
    // The reason may name the workspace.
    reason: shown(firing.reason),
    'created-at': firing.created_at,
    'fires-at': firing.fire_at,
    'decided-at': firing.decided_at,
  }
}

export function dependencyGraphResource(graph: DependencyGraph): contract.DependencyGraphResource {
  const { organization, workspaces, triggers, cycles, truncated } = graph
  const cycleOf = (id: string) => cycles.get(id) ?? null
  return {
    id: organization,
    type: 'dependency-graphs',
    attributes: {
      workspaces: workspaces.map(({ id, name, locked, run_id: runId, run_status: status, ...workspace }) => ({
        id,
        name,
        'project-id': workspace.project_id,
        'project-name': workspace.project_name,
        'auto-apply-run-trigger': workspace.auto_apply_run_trigger,
        'trigger-only-on-output-change': workspace.trigger_only_on_output_change,
        locked,
        'latest-change-at': workspace.latest_change_at,
        'current-run': runId === null || status === null ? null : { id: runId, status },
        cycle: cycleOf(id),
      })),
      triggers: triggers.map((trigger) => ({
        id: trigger.id,
        'workspace-id': trigger.workspace_id,
        'sourceable-id': trigger.source_id,
        'last-fired-at': trigger.last_fired_at,
        cycle: cycleOf(trigger.source_id) === cycleOf(trigger.workspace_id) ? cycleOf(trigger.source_id) : null,
      })),
      truncated,
    },
    relationships: { organization: { data: { id: organization, type: 'organizations' } } },
    links: { self: `/api/v2/organizations/${organization}/dependency-graph` },
  }
}
