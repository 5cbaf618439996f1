import type { UpdateTeamWorkspace } from '@groundstate/contract/teams'
import { CUSTOM_WORKSPACE, WORKSPACE_LEVELS } from '../../../auth/grants.ts'
import { levelColumns, type Part } from './levels.ts'
import type { TeamWorkspaceRow } from './store.ts'

type Columns = Pick<
  TeamWorkspaceRow,
  'runs' | 'variables' | 'state_versions' | 'sentinel_mocks' | 'run_tasks' | 'policy_overrides' | 'workspace_locking'
>

/** The column of a grant's `locking` has a longer name. */
function columnsOf({ locking, ...rest }: typeof CUSTOM_WORKSPACE): Columns {
  return { ...rest, workspace_locking: locking }
}

export const DEFAULTS = columnsOf(CUSTOM_WORKSPACE)
const FIXED = Object.fromEntries(Object.entries(WORKSPACE_LEVELS).map(([name, level]) => [name, columnsOf(level)]))

/** The columns of an access after `input`, on top of what it is now. */
export function accessColumns(access: string, input: UpdateTeamWorkspace, current: Columns): Columns {
  const part = (name: keyof UpdateTeamWorkspace, column: keyof Columns, label: string): Part<keyof Columns> => ({
    column,
    pointer: `/data/attributes/${name}`,
    label,
    value: input[name],
  })
  const { runs, variables, state_versions, sentinel_mocks, run_tasks, policy_overrides, workspace_locking } = current
  return levelColumns(
    {
      fixed: FIXED,
      access,
      current: { runs, variables, state_versions, sentinel_mocks, run_tasks, policy_overrides, workspace_locking },
    },
    [
      part('runs', 'runs', 'Runs'),
      part('variables', 'variables', 'Variables'),
      part('state-versions', 'state_versions', 'State versions'),
      part('sentinel-mocks', 'sentinel_mocks', 'Sentinel mocks'),
      part('run-tasks', 'run_tasks', 'Run tasks'),
      part('policy-overrides', 'policy_overrides', 'Policy overrides'),
      part('workspace-locking', 'workspace_locking', 'Workspace locking'),
    ],
  )
}
