import type { Ctx } from '../../../app.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { listReadableWorkspaces, requireWorkspace } from '../workspaces/access.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import * as store from './store.ts'

/** `workspaceId` is undefined in the older interface, which knows a variable by its id alone. */
export type WorkspaceVariableKey = { workspaceId?: string; id: string }

/**
 * The workspace of a variable that the caller may change. Throws `not-found` when it may not read the variables there,
 * `forbidden` when it may only read them.
 */
export async function requireVariableWorkspace(ctx: Ctx, { workspaceId, id }: WorkspaceVariableKey) {
  if (workspaceId !== undefined) return requireWritableVariables(ctx, workspaceId)
  const variable = await store.findWorkspaceVariable(ctx.db, id)
  const [workspace] = variable?.workspace_id ? await listReadableWorkspaces(ctx, [variable.workspace_id]) : []
  if (!workspace?.can.has('variables:read')) throw notFound('variable')
  return checkWritable(workspace)
}

/** As `requireVariableWorkspace`, by the id of the workspace. */
export async function requireWritableVariables(ctx: Ctx, workspaceId: string) {
  return checkWritable(await requireWorkspace(ctx, workspaceId, 'variables:read'))
}

function checkWritable(workspace: Workspace) {
  if (workspace.can.has('variables:write')) return workspace
  throw forbidden(`this needs the permission variables:write on the workspace ${workspace.name}`)
}
