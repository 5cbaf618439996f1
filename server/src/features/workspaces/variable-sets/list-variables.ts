import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { listOverwrites } from '../variables/resolve.ts'
import { findVariable, listVariables } from '../variables/store.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { requireVariableSet } from './access.ts'
import { listSetsInForce } from './store.ts'

export async function listSetVariables(ctx: Ctx, variableSetId: string) {
  await requireVariableSet(ctx, variableSetId, 'read')
  return listVariables(ctx.db, { variableSetId })
}

export async function showSetVariable(ctx: Ctx, variableSetId: string, id: string) {
  await requireVariableSet(ctx, variableSetId, 'read')
  const variable = await findVariable(ctx.db, { variableSetId }, id)
  if (!variable) throw notFound('variable')
  return variable
}

/** The variables of a set that is in force in the workspace, with what each overwrites there and is overwritten by. */
export async function listSetVariablesIn(ctx: Ctx, workspaceId: string, variableSetId: string) {
  const { project_id: projectId, organization_id: organizationId } = await requireWorkspace(
    ctx,
    workspaceId,
    'variables:read',
  )
  const set = await requireVariableSet(ctx, variableSetId, 'read')
  const scope = { workspaceId, projectId, organizationId }
  if (!(await listSetsInForce(ctx.db, scope)).some(({ id }) => id === set.id)) throw notFound('variable set')
  const [rows, overwrites] = await Promise.all([listVariables(ctx.db, { variableSetId }), listOverwrites(ctx, scope)])
  return rows.map((row) => ({ row, overwrites: overwrites.get(row.id) }))
}

export async function showSetVariableIn(
  ctx: Ctx,
  { workspaceId, variableSetId, variableId }: { workspaceId: string; variableSetId: string; variableId: string },
) {
  const variables = await listSetVariablesIn(ctx, workspaceId, variableSetId)
  const variable = variables.find(({ row }) => row.id === variableId)
  if (!variable) throw notFound('variable')
  return variable
}
