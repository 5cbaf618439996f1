import type { CreateVariable } from '@groundstate/contract/variables'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { variableAudit } from './audit.ts'
import { checkKey, refuseTakenKey } from './key.ts'
import * as store from './store.ts'
import { newVersionId, valueColumns } from './value.ts'

export async function createWorkspaceVariable(ctx: Ctx, workspaceId: string, input: CreateVariable) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:write')
  const event = variableAudit(workspace.organization_id, 'create')
  return audited(ctx, event, (ctx) => insertVariable(ctx, { workspaceId }, { input }))
}

/**
 * Creates a variable on a workspace or in a set; the caller has authorised it. A sensitive value is sealed and never
 * shown again. Throws `invalid` for a key that is taken or that the engine could not read; `pointer` is where the
 * attributes stand in the body.
 */
export async function insertVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { input, pointer = '/data/attributes' }: { input: CreateVariable; pointer?: string },
) {
  checkKey(input.category, input.key, pointer)
  const id = ctx.newId('var')
  const now = ctx.now()
  const sensitive = input.sensitive ?? false
  return refuseTakenKey(input.key, pointer, () =>
    store.insertVariable(ctx.db, {
      id,
      workspace_id: 'workspaceId' in owner ? owner.workspaceId : null,
      variable_set_id: 'variableSetId' in owner ? owner.variableSetId : null,
      key: input.key,
      category: input.category,
      ...valueColumns(ctx, { id, sensitive, value: input.value ?? '' }),
      description: input.description ?? '',
      hcl: input.hcl ?? false,
      version_id: newVersionId(ctx),
      created_at: now,
      updated_at: now,
    }),
  )
}
