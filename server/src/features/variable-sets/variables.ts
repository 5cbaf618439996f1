import type { CreateVariable, UpdateVariable } from '@groundstate/contract/variables'
import type { Ctx } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { audited } from '../audit-trail/service.ts'
import {
  changeVariable,
  destroyVariable,
  findVariable,
  insertVariable,
  listVariables,
  variableAudit,
} from '../variables/service.ts'
import { requireVariableSet } from './service.ts'

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
