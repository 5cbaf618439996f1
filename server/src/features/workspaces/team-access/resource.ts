import type { TeamWorkspaceResource } from '@groundstate/contract/teams'
import type { TeamWorkspace } from './team-workspace.ts'

export function teamWorkspaceResource(row: TeamWorkspace): TeamWorkspaceResource {
  const { workspace } = row
  return {
    id: row.id,
    type: 'team-workspaces',
    attributes: {
      access: row.access,
      runs: row.runs,
      variables: row.variables,
      'state-versions': row.state_versions,
      'sentinel-mocks': row.sentinel_mocks,
      'workspace-locking': row.workspace_locking,
      'run-tasks': row.run_tasks,
      'policy-overrides': row.policy_overrides,
    },
    relationships: {
      team: { data: { id: row.team_id, type: 'teams' }, links: { related: `/api/v2/teams/${row.team_id}` } },
      workspace: {
        data: { id: row.workspace_id, type: 'workspaces' },
        links: { related: `/api/v2/organizations/${workspace.organization_name}/workspaces/${workspace.name}` },
      },
    },
    links: { self: `/api/v2/team-workspaces/${row.id}` },
  }
}
