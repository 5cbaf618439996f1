import type { UpdateVariableSet } from '@groundstate/contract/variable-sets'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { requireVariableSet } from './access.ts'
import { variableSetAudit } from './audit.ts'
import { replaceSetScope } from './change-scope.ts'
import { changeVariables } from './change-variables.ts'
import { refuseTakenSetName } from './name.ts'
import * as store from './store.ts'
import type { VariableSet } from './variable-set.ts'

/**
 * Changes a set. Workspaces and projects in the body replace those where it applies; variables are added or changed.
 */
export async function updateVariableSet(
  ctx: Ctx,
  id: string,
  { attributes, relationships }: UpdateVariableSet,
): Promise<VariableSet> {
  const set = await requireVariableSet(ctx, id, 'manage')
  return refuseTakenSetName(() =>
    transact(ctx, async (ctx) => {
      await store.updateVariableSet(ctx.db, id, {
        name: attributes.name,
        description: attributes.description ?? undefined,
        is_global: attributes.global ?? undefined,
        priority: attributes.priority ?? undefined,
        updated_at: ctx.now(),
      })
      await replaceSetScope(ctx, set, relationships)
      const { vars, ...scope } = relationships
      await changeVariables(ctx, set, vars?.data ?? [])
      await recordAudit(ctx, await variableSetAudit(ctx, set, 'update', { changes: { ...attributes, ...scope } }))
      return requireVariableSet(ctx, id, 'read')
    }),
  )
}
