import type { UpdateVariable } from '@groundstate/contract/variables'
import type { AuditEvent } from '../../../audit/record.ts'
import type { VariableRow } from './store.ts'

/** The set of a variable as open pages know it. */
export type NoticedSet = { id: string; teams: readonly string[] | undefined }

/** The audit event of a change: the variable and the names of the changed attributes, never a value. */
export function variableAudit(
  organizationId: string,
  action: string,
  { changes, set }: { changes?: UpdateVariable; set?: NoticedSet } = {},
) {
  return (row: VariableRow): AuditEvent => ({
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
    notices: [
      ...(row.workspace_id === null ? [] : [{ type: 'vars' as const, id: row.id, workspace: row.workspace_id }]),
      ...(set ? [setNotice(set)] : []),
    ],
  })
}

/** The notice of a set: its settings, its variables and where it applies. Teams are given for the set of a project. */
export function setNotice({ id, teams }: NoticedSet): AuditEvent['notices'][number] {
  return { type: 'varsets', id, ...(teams && { teams }) }
}
