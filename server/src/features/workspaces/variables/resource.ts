import type { VariableResource } from '@groundstate/contract/variables'
import type { VariableRow } from './store.ts'

/**
 * The value of a sensitive variable is never shown. `overwrites` is given where a variable is shown within a workspace.
 */
export function variableResource(row: VariableRow, overwrites?: Overwrites): VariableResource {
  const self =
    row.workspace_id === null
      ? `/api/v2/varsets/${row.variable_set_id}/relationships/vars/${row.id}`
      : `/api/v2/workspaces/${row.workspace_id}/vars/${row.id}`
  return {
    id: row.id,
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
      ...(row.workspace_id === null
        ? { varset: { data: { id: row.variable_set_id ?? '', type: 'varsets' } } }
        : {
            configurable: {
              data: { id: row.workspace_id, type: 'workspaces' },
              links: { related: `/api/v2/workspaces/${row.workspace_id}` },
            },
          }),
      ...(overwrites && {
        overwriter: { data: overwrites.overwriter === null ? null : { id: overwrites.overwriter, type: 'vars' } },
        overwritten: { data: overwrites.overwritten.map((id) => ({ id, type: 'vars' })) },
      }),
    },
    links: { self },
  }
}

/** Source of an effective variable. */
export type VariableSource =
  | { kind: 'run' }
  | { kind: 'workspace' }
  | { kind: 'set'; name: string; priority: boolean; scope: 'workspace' | 'project' | 'global' }

/** The variable that overwrites one, and those that it overwrites; each by its id. */
export type Overwrites = { overwriter: string | null; overwritten: readonly string[] }
