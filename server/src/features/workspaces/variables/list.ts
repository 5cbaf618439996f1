import type { Ctx } from '../../../app.ts'
import { invalidParameter, notFound } from '../../../errors.ts'
import { requireWorkspace, requireWorkspaceByName } from '../workspaces/access.ts'
import * as store from './store.ts'

export async function listWorkspaceVariables(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId })
}

/** Throws `invalid` unless both names are given: the older interface has them in filters. */
export async function listVariablesByNames(
  ctx: Ctx,
  { organization, workspace }: { organization: string | undefined; workspace: string | undefined },
) {
  if (organization === undefined) throw missing('filter[organization][name]')
  if (workspace === undefined) throw missing('filter[workspace][name]')
  const found = await requireWorkspaceByName(ctx, organization, workspace, 'variables:read')
  return store.listVariables(ctx.db, { workspaceId: found.id })
}

function missing(parameter: string) {
  return invalidParameter(`${parameter} is missing`, parameter)
}

export async function showWorkspaceVariable(ctx: Ctx, workspaceId: string, id: string) {
  await requireWorkspace(ctx, workspaceId, 'variables:read')
  const variable = await store.findVariable(ctx.db, { workspaceId }, id)
  if (!variable) throw notFound('variable')
  return variable
}
