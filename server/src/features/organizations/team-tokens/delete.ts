import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { tokenAudit } from '../../identity/tokens/audit.ts'
import { requireOrganization } from '../organizations/access.ts'
import * as store from './store.ts'

/** Revokes many team tokens at once; ids of anything else are left alone. */
export async function deleteTeamTokens(ctx: Ctx, name: string, ids: readonly string[]) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await transact(ctx, async (ctx) => {
    const tokens = await store.deleteTeamTokens(ctx.db, organization.id, ids)
    for (const token of tokens) await recordAudit(ctx, tokenAudit('destroy', token))
  })
}
