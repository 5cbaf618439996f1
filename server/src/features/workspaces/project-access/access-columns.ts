import type { UpdateTeamProject } from '@groundstate/contract/teams'
import { CUSTOM_PROJECT, PROJECT_LEVELS } from '../../../auth/grants.ts'
import { levelColumns, type Part } from '../team-access/levels.ts'
import type { TeamProjectRow } from './store.ts'

/** Each part of an access: its column, its place in the interface, and its name in messages. */
const PARTS = [
  ['project_settings', 'project-access', 'settings', 'Project settings'],
  ['project_teams', 'project-access', 'teams', 'Project teams'],
  ['project_variable_sets', 'project-access', 'variable-sets', 'Project variable sets'],
  ['runs', 'workspace-access', 'runs', 'Workspace runs'],
  ['variables', 'workspace-access', 'variables', 'Workspace variables'],
  ['state_versions', 'workspace-access', 'state-versions', 'Workspace state versions'],
  ['sentinel_mocks', 'workspace-access', 'sentinel-mocks', 'Workspace sentinel mocks'],
  ['workspace_create', 'workspace-access', 'create', 'Workspace create'],
  ['workspace_move', 'workspace-access', 'move', 'Workspace move'],
  ['workspace_locking', 'workspace-access', 'locking', 'Workspace locking'],
  ['workspace_delete', 'workspace-access', 'delete', 'Workspace delete'],
  ['run_tasks', 'workspace-access', 'run-tasks', 'Workspace run tasks'],
  ['policy_overrides', 'workspace-access', 'policy-overrides', 'Workspace policy overrides'],
] as const

type Column = (typeof PARTS)[number][0]
type Columns = Pick<TeamProjectRow, Column>

/** The column of a grant's `locking` has a longer name. */
function columnsOf({ locking, ...rest }: typeof CUSTOM_PROJECT): Columns {
  return { ...rest, workspace_locking: locking }
}

export const DEFAULTS = columnsOf(CUSTOM_PROJECT)
const FIXED = Object.fromEntries(Object.entries(PROJECT_LEVELS).map(([name, level]) => [name, columnsOf(level)]))

/** The columns of an access after `input`, on top of what it is now. */
export function accessColumns(access: string, input: UpdateTeamProject, row: Columns): Columns {
  const parts = PARTS.map(([column, group, name, label]): Part<Column> => {
    const given: Record<string, unknown> = input[group] ?? {}
    return { column, pointer: `/data/attributes/${group}/${name}`, label, value: given[name] }
  })
  const current = Object.fromEntries(PARTS.map(([column]) => [column, row[column]])) as Columns
  return levelColumns({ fixed: FIXED, access, current }, parts)
}
