import { teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { Selectable } from 'kysely'
import { CUSTOM_PROJECT, CUSTOM_WORKSPACE, PROJECT_LEVELS, WORKSPACE_LEVELS } from '../../../auth/grants.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** The columns that custom access sets one by one; a grant of a workspace has some of them. */
export type GrantColumns = Partial<
  Omit<Selectable<Schema['team_projects']>, 'id' | 'team_id' | 'project_id' | 'access' | 'created_at'>
>

/** One part of a custom access: its column, its path in the attributes, and its name in messages. */
type Part = readonly [column: keyof GrantColumns, path: string, label: string]

type Level = Readonly<Record<string, string | boolean>>

/** A kind of grant to teams: of one workspace, or of a project with the workspaces in it. */
export type GrantKind = {
  noun: 'workspace' | 'project'
  schemas: typeof teamWorkspaces | typeof teamProjects
  table: 'team_workspaces' | 'team_projects'
  /** The column of what is granted. */
  subjectColumn: 'workspace_id' | 'project_id'
  idPrefix: string
  parts: readonly Part[]
  /** Where custom access begins. */
  custom: Level
  /** The parts of each fixed level. */
  levels: Readonly<Record<string, Level>>
}

export const GRANT_KINDS = {
  workspace: {
    noun: 'workspace',
    schemas: teamWorkspaces,
    table: 'team_workspaces',
    subjectColumn: 'workspace_id',
    idPrefix: 'tws',
    parts: [
      ['runs', 'runs', 'Runs'],
      ['variables', 'variables', 'Variables'],
      ['state_versions', 'state-versions', 'State versions'],
      ['sentinel_mocks', 'sentinel-mocks', 'Sentinel mocks'],
      ['workspace_locking', 'workspace-locking', 'Workspace locking'],
      ['run_tasks', 'run-tasks', 'Run tasks'],
      ['policy_overrides', 'policy-overrides', 'Policy overrides'],
    ],
    custom: CUSTOM_WORKSPACE,
    levels: WORKSPACE_LEVELS,
  },
  project: {
    noun: 'project',
    schemas: teamProjects,
    table: 'team_projects',
    subjectColumn: 'project_id',
    idPrefix: 'tprj',
    parts: [
      ['project_settings', 'project-access/settings', 'Project settings'],
      ['project_teams', 'project-access/teams', 'Project teams'],
      ['project_variable_sets', 'project-access/variable-sets', 'Project variable sets'],
      ['workspace_create', 'workspace-access/create', 'Workspace create'],
      ['workspace_move', 'workspace-access/move', 'Workspace move'],
      ['workspace_locking', 'workspace-access/locking', 'Workspace locking'],
      ['workspace_delete', 'workspace-access/delete', 'Workspace delete'],
      ['runs', 'workspace-access/runs', 'Workspace runs'],
      ['variables', 'workspace-access/variables', 'Workspace variables'],
      ['state_versions', 'workspace-access/state-versions', 'Workspace state versions'],
      ['sentinel_mocks', 'workspace-access/sentinel-mocks', 'Workspace sentinel mocks'],
      ['run_tasks', 'workspace-access/run-tasks', 'Workspace run tasks'],
      ['policy_overrides', 'workspace-access/policy-overrides', 'Workspace policy overrides'],
    ],
    custom: CUSTOM_PROJECT,
    levels: PROJECT_LEVELS,
  },
} as const satisfies { [Noun in GrantKind['noun']]: GrantKind & { noun: Noun } }
