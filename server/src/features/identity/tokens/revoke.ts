import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { tokenAudit } from './audit.ts'
import * as store from './store.ts'

/** Revokes a token at once, on every replica, for a caller that is authorised already. */
export async function revokeToken(ctx: Ctx, id: string) {
  await transact(ctx, async (ctx) => {
    const token = await store.deleteToken(ctx.db, id)
    if (token) await recordAudit(ctx, tokenAudit('destroy', token))
  })
}
