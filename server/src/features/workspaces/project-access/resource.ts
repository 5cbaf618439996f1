import type { TeamProjectResource } from '@groundstate/contract/teams'
import type { TeamProject } from './team-project.ts'

export function teamProjectResource(row: TeamProject): TeamProjectResource {
  return {
    id: row.id,
    type: 'team-projects',
    attributes: {
      access: row.access,
      'project-access': {
        settings: row.project_settings,
        teams: row.project_teams,
        'variable-sets': row.project_variable_sets,
      },
      'workspace-access': {
        create: row.workspace_create,
        move: row.workspace_move,
        locking: row.workspace_locking,
        delete: row.workspace_delete,
        runs: row.runs,
        variables: row.variables,
        'state-versions': row.state_versions,
        'sentinel-mocks': row.sentinel_mocks,
        'run-tasks': row.run_tasks,
        'policy-overrides': row.policy_overrides,
      },
    },
    relationships: {
      team: { data: { id: row.team_id, type: 'teams' }, links: { related: `/api/v2/teams/${row.team_id}` } },
      project: {
        data: { id: row.project_id, type: 'projects' },
        links: { related: `/api/v2/projects/${row.project_id}` },
      },
    },
    links: { self: `/api/v2/team-projects/${row.id}` },
  }
}
