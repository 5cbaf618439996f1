import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { requireVariableWorkspace, type WorkspaceVariableKey } from './access.ts'
import { type NoticedSet, variableAudit } from './audit.ts'
import * as store from './store.ts'

export async function deleteWorkspaceVariable(ctx: Ctx, key: WorkspaceVariableKey) {
  const workspace = await requireVariableWorkspace(ctx, key)
  await destroyVariable(ctx, { workspaceId: workspace.id }, { id: key.id, organizationId: workspace.organization_id })
}

/** Deletes a variable; the caller has authorised it. Throws `not-found` when the owner has no such variable. */
export async function destroyVariable(
  ctx: Ctx,
  owner: store.VariableOwner,
  { id, organizationId, set }: { id: string; organizationId: string; set?: NoticedSet },
) {
  await audited(ctx, variableAudit(organizationId, 'destroy', { ...(set && { set }) }), async (ctx) => {
    const row = await store.deleteVariable(ctx.db, owner, id)
    if (!row) throw notFound('variable')
    return row
  })
}
