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

const TAKEN_KEYS = new Set(['variables_workspace_key', 'variables_variable_set_key'])

export type PlacedKey = Pick<store.VariableRow, 'category' | 'key'> & { pointer: string }

/** Writes variables. Throws `invalid` when the owner has another variable with a key and category. `pointer` is that of the attributes. */
export async function rejectTakenKey(variables: readonly PlacedKey[], write: () => Promise<void>) {
  try {
    await write()
  } catch (error) {
    if (!isUniqueViolation(error) || !TAKEN_KEYS.has(error.constraint ?? '')) throw error
    // `Key (variable_set_id, category, key)=(varset-…, env, A) already exists.` Keys contain no blanks.
    const isTaken = ({ category, key }: PlacedKey) => error.detail?.includes(`, ${category}, ${key})`)
    const { key, pointer } = variables.findLast(isTaken) ?? { key: '', pointer: '' }
    throw invalid(`Key has already been taken: there is a variable ${key} of this category`, `${pointer}/key`)
  }
}
