import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { type IssuedToken, issueToken, tokenAudit } from './issue.ts'
import * as store from './store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { findUser } from '../users/store.ts'
import type { Page } from '../../../db/page.ts'

/**
 * Checks that the actor may see and make the API tokens of a user: the user themself, not by a team's token, or a site
 * administrator. Throws `not-found` otherwise, as for a user who does not exist.
 */
export async function requireTokenOwner(ctx: Ctx, userId: string) {
  const { actor } = ctx
  const isAllowed =
    actor.kind === 'system' ||
    (actor.kind === 'user' && actor.teamId === undefined && (actor.userId === userId || actor.isSiteAdmin))
  const user = isAllowed ? await findUser(ctx.db, userId) : undefined
  // A team's account has the tokens of its team, made under the rules for those.
  if (!user || user.is_service_account) throw notFound('user')
  return user
}

export async function listUserTokens(ctx: Ctx, userId: string, page: Page) {
  const user = await requireTokenOwner(ctx, userId)
  return store.listUserTokens(ctx.db, user.id, page)
}

/** Creates an API token of a user; the `created-by` is who asked, or the user when the server itself did. */
export async function createUserToken(ctx: Ctx, userId: string, input: CreateToken): Promise<IssuedToken> {
  const user = await requireTokenOwner(ctx, userId)
  const createdBy = ctx.actor.kind === 'user' ? ctx.actor.userId : user.id
  return issueToken(ctx, { kind: 'user', user_id: user.id, created_by_user_id: createdBy }, input)
}

/** Makes a token of a text chosen elsewhere exist for a user; nothing happens when it does already. */
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

/** Ends a token at once, on every replica. Whoever calls this has authorised it. */
export async function revokeToken(ctx: Ctx, id: string) {
  await transact(ctx, async (ctx) => {
    const token = await store.deleteToken(ctx.db, id)
    if (token) await recordAudit(ctx, tokenAudit('destroy', token))
  })
}
