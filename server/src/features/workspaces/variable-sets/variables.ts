import type { CreateVariable, UpdateVariable } from '@groundstate/contract/variables'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspace } from '../workspaces/service.ts'
import { listSetsForRun, requireVariableSet } from './service.ts'
import { audited } from '../../../audit/record.ts'
import { changeVariable, destroyVariable, insertVariable, variableAudit } from '../variables/values.ts'
import { findVariable, listVariables } from '../variables/store.ts'
import { listOverwrites } from '../variables/resolve.ts'

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
  if (!(await listSetsForRun(ctx, scope)).some(({ id }) => id === set.id)) throw notFound('variable set')
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

export async function createSetVariable(ctx: Ctx, variableSetId: string, input: CreateVariable) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const event = variableAudit(set.organization_id, 'create')
  return audited(ctx, event, (ctx) => insertVariable(ctx, { variableSetId }, { input }))
}

export async function updateSetVariable(
  ctx: Ctx,
  { variableSetId, id }: { variableSetId: string; id: string },
  input: UpdateVariable,
) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const event = variableAudit(set.organization_id, 'update', input)
  return audited(ctx, event, (ctx) => changeVariable(ctx, { variableSetId }, { id, input }))
}

export async function deleteSetVariable(ctx: Ctx, { variableSetId, id }: { variableSetId: string; id: string }) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  await destroyVariable(ctx, { variableSetId }, { id, organizationId: set.organization_id })
}
