import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
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

/** Creates a token of a user with a text that was chosen elsewhere, unless it exists already. */
export async function ensureUserToken(ctx: Ctx, userId: string, input: { text: string; description: string }) {
  const hash = tokenHash(input.text)
  if (await store.findTokenByHash(ctx.db, hash)) return
  const row: store.NewToken = {
    id: ctx.newId('at'),
    kind: 'user',
    hash,
    user_id: userId,
    description: input.description,
    created_by_user_id: userId,
    created_at: ctx.now(),
  }
  await audited(ctx, tokenAudit('create', row), (ctx) => store.insertToken(ctx.db, row))
}
