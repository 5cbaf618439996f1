import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { type Db, type Page, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { newId } from '../../../ids.ts'
import { StartError } from '../../../start-error.ts'
import { findUser, findUserByLogin } from '../users/store.ts'
import { tokenAudit } from './store.ts'
import * as store from './store.ts'

/** A new token and its text. The database has only a hash, so the text cannot be read again. */
export type IssuedToken = { token: store.TokenRow; text: string }

type Subject = Omit<store.NewToken, 'id' | 'hash' | 'created_at' | 'description' | 'expires_at'>

/** Issues a token for what `subject` names, for a caller that is authorised already. */
export async function issueToken(ctx: Ctx, subject: Subject, input: CreateToken): Promise<IssuedToken> {
  const { row, text } = newToken(ctx, subject, input)
  const token = await audited(ctx, tokenAudit('create', row), (ctx) => store.insertToken(ctx.db, row))
  return { token, text }
}

/** As `issueToken`, for a subject that can have one token only: the new token replaces the old one. */
export async function reissueToken(ctx: Ctx, subject: Subject, input: CreateToken): Promise<IssuedToken> {
  const { row, text } = newToken(ctx, subject, input)
  const token = await audited(ctx, tokenAudit('create', row), (ctx) => store.replaceToken(ctx.db, row))
  return { token, text }
}

function newToken(ctx: Ctx, subject: Subject, input: CreateToken) {
  const text = newTokenText()
  const row: store.NewToken = {
    created_by_user_id: actorUserId(ctx.actor),
    ...subject,
    id: ctx.newId('at'),
    hash: tokenHash(text),
    description: input.description ?? null,
    created_at: ctx.now(),
    expires_at: expiry(ctx, input['expired-at']),
  }
  return { row, text }
}

function expiry(ctx: Ctx, text: string | null | undefined) {
  if (text === null || text === undefined) return null
  const moment = new Date(text)
  if (moment <= ctx.now())
    throw invalid(`expired-at is ${text}, it must be in the future`, '/data/attributes/expired-at')
  return moment
}

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

/**
 * Creates an API token of an account directly in the database and returns its text. It checks no permission, since the
 * caller has access to the database anyway. Throws a `StartError` when there is no such account.
 */
export async function createTokenOnCommandLine(
  db: Db,
  input: { username: string; description: string; expiresAt: Date | undefined },
) {
  const user = await findUserByLogin(db, input.username)
  if (!user) throw new StartError(`there is no account with the name or e-mail address ${input.username}`)
  if (user.suspended_at) throw new StartError(`the account ${user.username} is suspended`)
  const text = newTokenText()
  await store.insertToken(db, {
    id: newId('at'),
    kind: 'user',
    hash: tokenHash(text),
    user_id: user.id,
    description: input.description,
    created_by_user_id: user.id,
    created_at: new Date(),
    expires_at: input.expiresAt ?? null,
  })
  return text
}

export async function listUserTokens(ctx: Ctx, userId: string, page: Page) {
  const user = await requireTokenOwner(ctx, userId)
  return store.listUserTokens(ctx.db, user.id, page)
}

/** Revokes a token at once, on every replica, for a caller that is authorised already. */
export async function revokeToken(ctx: Ctx, id: string) {
  await transact(ctx, async (ctx) => {
    const token = await store.deleteToken(ctx.db, id)
    if (token) await recordAudit(ctx, tokenAudit('destroy', token))
  })
}

/**
 * Checks that the actor may see and create the API tokens of a user: the user themself, but not by the token of a team,
 * or a site administrator. Throws `not-found` otherwise, as for a user who does not exist.
 */
export async function requireTokenOwner(ctx: Ctx, userId: string) {
  const { actor } = ctx
  const isAllowed =
    actor.kind === 'system' ||
    (actor.kind === 'user' && actor.teamId === undefined && (actor.userId === userId || actor.isSiteAdmin))
  const user = isAllowed ? await findUser(ctx.db, userId) : undefined
  // The account of a team has the tokens of its team, which other rules apply to.
  if (!user || user.is_service_account) throw notFound('user')
  return user
}
