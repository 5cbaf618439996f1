import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireVariableSet } from './access.ts'
import { variableSetAudit } from './audit.ts'
import * as store from './store.ts'

export async function deleteVariableSet(ctx: Ctx, id: string) {
  const set = await requireVariableSet(ctx, id, 'manage')
  await audited(ctx, await variableSetAudit(ctx, set, 'destroy'), (ctx) => store.deleteVariableSet(ctx.db, id))
}
