import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspace, requireWorkspaceByName } from '../workspaces/access.ts'
import * as store from './store.ts'

export async function listWorkspaceVariables(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId })
}

export async function listVariablesByNames(
  ctx: Ctx,
  { organization, workspace }: { organization: string; workspace: string },
) {
  const found = await requireWorkspaceByName(ctx, organization, workspace, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId: found.id })
}

export async function showWorkspaceVariable(ctx: Ctx, workspaceId: string, id: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variable = await store.findVariable(ctx.db, { workspaceId }, id)
  if (!variable) throw notFound('variable')
  return variable
}
