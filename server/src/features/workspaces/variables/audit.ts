import type { UpdateVariable } from '@groundstate/contract/variables'
import type { VariableRow } from './store.ts'

/** The audit event of a change: the variable and the names of the changed attributes, never a value. */
export function variableAudit(organizationId: string, action: string, changes?: UpdateVariable) {
  return (row: VariableRow) => ({
    organizationId,
    action,
    resource: { type: 'variable', id: row.id },
    meta: {
      key: row.key,
      category: row.category,
      sensitive: row.sensitive,
      ...(row.workspace_id === null ? { variable_set: row.variable_set_id } : { workspace: row.workspace_id }),
      changes: changes && Object.keys(changes),
    },
  })
}
