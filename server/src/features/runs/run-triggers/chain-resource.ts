import type { TriggerChainResource } from '@groundstate/contract/run-triggers'
import type { ChainFiringRow, ChainRunRow } from './chain-store.ts'
import type { TriggerChain } from './chain.ts'

export function triggerChainResource({ runId, runs, firings, truncated }: TriggerChain): TriggerChainResource {
  return {
    id: runId,
    type: 'trigger-chains',
    attributes: { runs: runs.map(chainRun), firings: firings.map(chainFiring), truncated },
    relationships: { run: { data: { id: runId, type: 'runs' } } },
    links: { self: `/api/v2/runs/${runId}/trigger-chain` },
  }
}

function chainRun(run: ChainRunRow): TriggerChainResource['attributes']['runs'][number] {
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

function chainFiring(firing: ChainFiringRow): TriggerChainResource['attributes']['firings'][number] {
  const shown = <T>(value: T) => (firing.is_readable ? value : null)
  return {
    'source-run-id': firing.source_run_id,
    'run-id': firing.run_id,
    'workspace-id': shown(firing.workspace_id),
    'workspace-name': shown(firing.workspace_name),
    status: firing.status,
    // It may name the workspace.
    reason: shown(firing.reason),
    'created-at': firing.created_at,
    'fires-at': firing.fire_at,
    'decided-at': firing.decided_at,
  }
}
