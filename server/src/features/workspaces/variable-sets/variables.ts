import type { UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { CreateVariable, UpdateVariable } from '@groundstate/contract/variables'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { invalid, notFound } from '../../../errors.ts'
import { variableAudit } from '../variables/access.ts'
import { changeVariable, destroyVariable, insertVariable } from '../variables/service.ts'
import { findVariable, listVariables, lockVariables } from '../variables/store.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { noticedSet, requireVariableSet } from './access.ts'
import { listOverwrites } from './effective-variables.ts'
import { type VariableSet, selectEffectiveSets } from './store.ts'

export async function createSetVariable(ctx: Ctx, variableSetId: string, input: CreateVariable) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const event = variableAudit(set.organization_id, 'create', { set: await noticedSet(ctx, set) })
  return audited(ctx, event, (ctx) => insertVariable(ctx, { variableSetId }, { input }))
}

export async function updateSetVariable(
  ctx: Ctx,
  { variableSetId, id }: { variableSetId: string; id: string },
  input: UpdateVariable,
) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const event = variableAudit(set.organization_id, 'update', { changes: input, set: await noticedSet(ctx, set) })
  return audited(ctx, event, (ctx) => changeVariable(ctx, { variableSetId }, { id, input }))
}

export async function deleteSetVariable(ctx: Ctx, { variableSetId, id }: { variableSetId: string; id: string }) {
  const set = await requireVariableSet(ctx, variableSetId, 'manage')
  const noticed = { organizationId: set.organization_id, set: await noticedSet(ctx, set) }
  await destroyVariable(ctx, { variableSetId }, { id, ...noticed })
}

type VariableChange = NonNullable<UpdateVariableSet['relationships']['vars']>['data'][number]

/** Adds the variables without an id to the set and changes those with one. Each change has a separate audit event. */
export async function changeVariables(
  ctx: TransactionCtx,
  set: Pick<VariableSet, 'id' | 'organization_id'>,
  changes: readonly VariableChange[],
) {
  const owner = { variableSetId: set.id }
  const ids = changes.flatMap(({ id }) => id ?? [])
  const existing = new Set(ids.length === 0 ? [] : await lockVariables(ctx.db, owner, ids))
  for (const [index, change] of changes.entries()) {
    const item = `/data/relationships/vars/data/${index}`
    const pointer = `${item}/attributes`
    if (change.id === undefined) {
      const { attributes: input } = change
      const event = variableAudit(set.organization_id, 'create')
      await audited(ctx, event, (ctx) => insertVariable(ctx, owner, { input, pointer }))
    } else if (!existing.has(change.id)) {
      throw invalid(`the set has no variable ${change.id}`, `${item}/id`)
    } else if (change.attributes) {
      const { id, attributes: input } = change
      const event = variableAudit(set.organization_id, 'update', { changes: input })
      await audited(ctx, event, (ctx) => changeVariable(ctx, owner, { id, input, pointer }))
    }
  }
}

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

/** The variables of a set that is effective in the workspace, each with the variables that it overwrites or is overwritten by. */
export async function listSetVariablesIn(ctx: Ctx, workspaceId: string, variableSetId: string) {
  const { project_id: projectId, organization_id: organizationId } = await requireWorkspace(
    ctx,
    workspaceId,
    'variables:read',
  )
  const set = await requireVariableSet(ctx, variableSetId, 'read')
  const scope = { workspaceId, projectId, organizationId }
  const { rows: effective } = await selectEffectiveSets(scope).execute(ctx.db)
  if (!effective.some(({ id }) => id === set.id)) throw notFound('variable set')
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
