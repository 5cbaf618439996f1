import type { CreateVariable, UpdateVariable } from '@groundstate/contract/variables'
import type { Ctx } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { changeVariable, deleteVariableOf, findVariable, insertVariable, listVariables } from '../variables/service.ts'
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
  await requireVariableSet(ctx, variableSetId, 'manage')
  return insertVariable(ctx, { variableSetId }, { input })
}

export async function updateSetVariable(
  ctx: Ctx,
  { variableSetId, id }: { variableSetId: string; id: string },
  input: UpdateVariable,
) {
  await requireVariableSet(ctx, variableSetId, 'manage')
  return changeVariable(ctx, { variableSetId }, { id, input })
}

export async function deleteSetVariable(ctx: Ctx, { variableSetId, id }: { variableSetId: string; id: string }) {
  await requireVariableSet(ctx, variableSetId, 'manage')
  if (!(await deleteVariableOf(ctx.db, { variableSetId }, id))) throw notFound('variable')
}
