import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/db.ts'

export type SqlText = string | RawBuilder<unknown>

/** Whether the variable set `s` applies to a workspace. Sets owned by a project are effective only in the project. */
export function isEffective(workspaceId: SqlText, projectId: SqlText) {
  return sql`((s.project_id is null or s.project_id = ${projectId}) and (s.is_global
    or exists (select from variable_set_workspaces x where x.variable_set_id = s.id and x.workspace_id = ${workspaceId})
    or exists (select from variable_set_projects x where x.variable_set_id = s.id and x.project_id = ${projectId})))`
}

/**
 * Records which variable sets apply to which workspaces, before the scope of a set shrinks or workspaces move: their values may be deployed. Sets
 * without sensitive values are ignored, and for a move those that apply in all projects.
 */
export async function insertFormerScope(tx: Tx, changing: { setId: string } | { workspaceIds: readonly string[] }) {
  const isChanging =
    'setId' in changing
      ? sql`s.id = ${changing.setId}`
      : sql`w.id = any(${changing.workspaceIds}) and not (s.is_global and s.project_id is null)`
  await sql`insert into former_variable_sets (workspace_id, variable_set_id)
    select w.id, s.id from variable_sets s join workspaces w on w.organization_id = s.organization_id
     where ${isChanging} and ${isEffective(sql.ref('w.id'), sql.ref('w.project_id'))}
       and (exists (select from variables v where v.variable_set_id = s.id and v.sensitive)
         or exists (select from former_sensitive_values f where f.variable_set_id = s.id))
     order by w.id
    on conflict do nothing`.execute(tx)
}
