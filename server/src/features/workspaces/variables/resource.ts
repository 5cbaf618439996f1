import type { VariableResource } from '@groundstate/contract/variables'
import type { VariableRow } from './store.ts'

/** The value of a sensitive variable is never shown. `overwrites` is present where a variable is shown within a workspace. */
export function variableResource(row: VariableRow, overwrites?: Overwrites): VariableResource {
  const { id, workspace_id: workspaceId, variable_set_id: setId } = row
  const workspace = `/api/v2/workspaces/${workspaceId}`
  return {
    id,
    type: 'vars',
    attributes: {
      key: row.key,
      value: row.value,
      sensitive: row.sensitive,
      category: row.category,
      hcl: row.hcl,
      description: row.description,
      'created-at': row.created_at,
      'version-id': row.version_id,
    },
    relationships: {
      ...(workspaceId === null
        ? { varset: { data: { id: setId ?? '', type: 'varsets' } } }
        : { configurable: { data: { id: workspaceId, type: 'workspaces' }, links: { related: workspace } } }),
      ...(overwrites && {
        overwriter: { data: overwrites.overwriter === null ? null : { id: overwrites.overwriter, type: 'vars' } },
        overwritten: { data: overwrites.overwritten.map((id) => ({ id, type: 'vars' })) },
      }),
    },
    links: {
      self: workspaceId === null ? `/api/v2/varsets/${setId}/relationships/vars/${id}` : `${workspace}/vars/${id}`,
    },
  }
}

export type VariableSource =
  | { kind: 'run' }
  | { kind: 'workspace' }
  | { kind: 'set'; name: string; priority: boolean; scope: 'workspace' | 'project' | 'global' }

/** The ids of the variable that overwrites one, and of those that it overwrites. */
export type Overwrites = { overwriter: string | null; overwritten: readonly string[] }
