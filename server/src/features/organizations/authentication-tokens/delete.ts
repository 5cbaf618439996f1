import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { raise } from '../../../events/reaction.ts'
import { tokenAudit } from '../../identity/tokens/audit.ts'
import { tokenDeleted } from '../../identity/tokens/events.ts'
import * as store from '../../identity/tokens/store.ts'
import { requireToken } from './access.ts'

/** Ends a token at once, on every replica. */
export async function deleteAuthenticationToken(ctx: Ctx, id: string) {
  const token = await requireToken(ctx, id)
  await audited(ctx, tokenAudit('destroy', token), async (ctx) => {
    await store.deleteToken(ctx.db, token.id)
    await raise(ctx, tokenDeleted, { tokenId: token.id })
  })
}
