import type { VariableResource } from '@groundstate/contract/variables'
import type { Overwrites, VariableSource } from './precedence.ts'
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

type InForce = VariableRow & { source: Exclude<VariableSource, { kind: 'run' }> }

/** A variable among those that are in force in a workspace, with what it comes from. */
export function variableInForceResource(row: InForce, overwrites: Overwrites): VariableResource {
  const resource = variableResource(row, overwrites)
  return { ...resource, attributes: { ...resource.attributes, 'in-force-by': inForceBy(row.source) } }
}

function inForceBy(source: InForce['source']): VariableResource['attributes']['in-force-by'] {
  if (source.kind === 'workspace') return { kind: 'workspace' }
  const { kind, name, priority, scope } = source
  return { kind, name, priority, scope }
}
