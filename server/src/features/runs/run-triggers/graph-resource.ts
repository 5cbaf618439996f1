import type { DependencyGraphResource } from '@groundstate/contract/run-triggers'
import type { DependencyGraph } from './graph.ts'

export function dependencyGraphResource(graph: DependencyGraph): DependencyGraphResource {
  const { organization, workspaces, triggers, cycles, truncated } = graph
  const cycleOf = (id: string) => cycles.get(id) ?? null
  return {
    id: organization,
    type: 'dependency-graphs',
    attributes: {
      workspaces: workspaces.map((workspace) => ({
        id: workspace.id,
        name: workspace.name,
        'auto-apply-run-trigger': workspace.auto_apply_run_trigger,
        'trigger-only-on-output-change': workspace.trigger_only_on_output_change,
        locked: workspace.locked,
        'latest-change-at': workspace.latest_change_at,
        'current-run':
          workspace.run_id === null || workspace.run_status === null
            ? null
            : { id: workspace.run_id, status: workspace.run_status },
        cycle: cycleOf(workspace.id),
      })),
      triggers: triggers.map((trigger) => ({
        id: trigger.id,
        'workspace-id': trigger.workspace_id,
        'sourceable-id': trigger.source_id,
        cycle: cycleOf(trigger.source_id) === cycleOf(trigger.workspace_id) ? cycleOf(trigger.source_id) : null,
      })),
      truncated,
    },
    relationships: { organization: { data: { id: organization, type: 'organizations' } } },
    links: { self: `/api/v2/organizations/${organization}/dependency-graph` },
  }
}
