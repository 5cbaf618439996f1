import { type CreateVariable, type UpdateVariable, variableKeyProblem } from '@groundstate/contract/variables'
import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { checkPermission, listReadableWorkspaces, requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'

/** `workspaceId` is undefined in the legacy API, which addresses a variable by its id alone. */
export type WorkspaceVariableKey = { workspaceId?: string; id: string }

/** The workspace of a variable to change. Throws `not-found` for a caller who may not read its variables, `forbidden` for a reader. */
export async function requireVariableWorkspace(ctx: Ctx, { workspaceId, id }: WorkspaceVariableKey) {
  if (workspaceId !== undefined) return requireWritableVariables(ctx, workspaceId)
  const variable = await store.findWorkspaceVariable(ctx.db, id)
  const [workspace] = variable?.workspace_id ? await listReadableWorkspaces(ctx, [variable.workspace_id]) : []
  if (!workspace?.can.has('variables:read')) throw notFound('variable')
  checkPermission(workspace, 'variables:write')
  return workspace
}

export async function requireWritableVariables(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  checkPermission(workspace, 'variables:write')
  return workspace
}

/** A variable set in a notice; `teams` are those that see the set of a project. */
export type NoticedSet = { id: string; teams: readonly string[] | undefined }

/** Records the names of the changed attributes, never a value. */
export function variableAudit(
  organizationId: string,
  action: string,
  { changes, set }: { changes?: UpdateVariable; set?: NoticedSet } = {},
) {
  return (row: store.VariableRow): AuditEvent => ({
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

/** The notice of a change to a set's settings, variables or scope. */
export function setNotice({ id, teams }: NoticedSet): AuditEvent['notices'][number] {
  return { type: 'varsets', id, ...(teams && { teams }) }
}

/** Throws `invalid` for a key that the engine cannot read. `pointer` is that of the attributes in the body. */
export function checkKey(category: CreateVariable['category'], key: string, pointer: string) {
  const problem = variableKeyProblem(category, key)
  if (problem !== undefined) throw invalid(problem, `${pointer}/key`)
}

/** Runs a change that sets a key. Throws `invalid` when the owner has another variable with that key and category. */
export async function rejectTakenKey<T>(key: string, pointer: string, change: () => Promise<T>) {
  try {
    return await change()
  } catch (error) {
    if (isUniqueViolation(error, 'variables_workspace_key') || isUniqueViolation(error, 'variables_variable_set_key')) {
      throw invalid(`Key has already been taken: there is a variable ${key} of this category`, `${pointer}/key`)
    }
    throw error
  }
}
