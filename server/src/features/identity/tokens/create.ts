import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { requireTokenOwner } from './access.ts'
import { tokenAudit } from './audit.ts'
import { type IssuedToken, issueToken } from './issue.ts'
import * as store from './store.ts'

/** Creates an API token of a user. `created-by` is the actor, or the user when the server itself creates it. */
export async function createUserToken(ctx: Ctx, userId: string, input: CreateToken): Promise<IssuedToken> {
  const user = await requireTokenOwner(ctx, userId)
  const createdBy = ctx.actor.kind === 'user' ? ctx.actor.userId : user.id
  return issueToken(ctx, { kind: 'user', user_id: user.id, created_by_user_id: createdBy }, input)
}

/**
 * Makes `text`, the value of the setting that `description` names, a token of a user, and ends the tokens that the setting had
 * before. A token with that text may exist already: one of the user ends with the setting from now on.
 */
export async function replaceSettingToken(
  ctx: TransactionCtx,
  userId: string,
  { text, description }: { text: string; description: string },
) {
  const hash = tokenHash(text)
  for (const former of await store.deleteFormerSettingTokens(ctx.db, hash))
    await recordAudit(ctx, tokenAudit('destroy', former))
  const existing = await store.findTokenByHash(ctx.db, hash)
  if (existing) {
    if (existing.user_id === userId) await store.updateFromSetting(ctx.db, existing.id)
    return
  }
  const row: store.NewToken = {
    id: ctx.newId('at'),
    kind: 'user',
    hash,
    user_id: userId,
    description,
    created_by_user_id: userId,
    created_at: ctx.now(),
    from_setting: true,
  }
  await store.insertToken(ctx.db, row)
  await recordAudit(ctx, tokenAudit('create', row))
}
