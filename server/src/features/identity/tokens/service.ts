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
import * as store from './store.ts'

/** A new token and its text, of which only a hash is stored. */
export type IssuedToken = { token: store.TokenRow; text: string }

type Subject = Omit<store.NewToken, 'id' | 'hash' | 'created_at' | 'description' | 'expires_at'>

/** Issues a token for `subject`, and revokes the previous one if there can be only one. The caller is authorised. */
export async function issueToken(ctx: Ctx, subject: Subject, input: CreateToken): Promise<IssuedToken> {
  const text = newTokenText()
  const now = ctx.now()
  const row: store.NewToken = {
    created_by_user_id: actorUserId(ctx.actor),
    ...subject,
    id: ctx.newId('at'),
    hash: tokenHash(text),
    description: input.description ?? null,
    created_at: now,
    expires_at: expiry(ctx, { kind: subject.kind, text: input['expired-at'], now }),
  }
  const token = await audited(ctx, store.tokenAudit('create', row), async ({ db }) => store.insertToken(db, row))
  return { token, text }
}

/** The token of which the owner has one; the caller is authorised. Throws `not-found` when it does not exist. */
export async function requireSingleToken(ctx: Ctx, owner: store.SingleToken) {
  const token = await store.findSingleToken(ctx.db, owner)
  if (!token) throw notFound('token')
  return token
}

export async function deleteSingleToken(ctx: Ctx, owner: store.SingleToken) {
  await transact(ctx, async (ctx) => {
    const token = await store.deleteSingleToken(ctx.db, owner)
    if (!token) throw notFound('token')
    await recordAudit(ctx, store.tokenAudit('destroy', token))
  })
}

type Expiry = { kind: Subject['kind']; text: string | null | undefined; now: Date }

function expiry(ctx: Ctx, { kind, text, now }: Expiry) {
  // An agent that lost its token by default would stop all runs of its pool.
  if (text === null || text === undefined) return kind === 'agent' ? null : defaultExpiry(ctx, now)
  const moment = new Date(text)
  if (moment <= now) throw invalid(`expired-at is ${text}; it must be in the future`, '/data/attributes/expired-at')
  return moment
}

/** The public API treats null like a missing `expired-at`: the token has a default lifetime. */
function defaultExpiry(ctx: Ctx, now: Date) {
  const { defaultTokenTtl: ttl } = ctx.config
  if (ttl === undefined) return null
  const count = Number.parseInt(ttl, 10)
  const moment = new Date(now)
  if (ttl.endsWith('y')) moment.setUTCFullYear(moment.getUTCFullYear() + count)
  else moment.setUTCDate(moment.getUTCDate() + count)
  return moment
}

/** Creates an API token of a user. `created-by` is the actor, or the user when the server creates it. */
export async function createUserToken(ctx: Ctx, userId: string, input: CreateToken): Promise<IssuedToken> {
  const user = await requireTokenOwner(ctx, userId)
  const createdBy = ctx.actor.kind === 'user' ? ctx.actor.userId : user.id
  return issueToken(ctx, { kind: 'user', user_id: user.id, created_by_user_id: createdBy }, input)
}

type SettingToken = { text: string; description: string }

/** Makes the value of a setting a token of a user, and deletes the tokens of previous values. It may already be a token of the user. */
export async function replaceSettingToken(ctx: TransactionCtx, userId: string, { text, description }: SettingToken) {
  const hash = tokenHash(text)
  for (const former of await store.deleteFormerSettingTokens(ctx.db, hash))
    await recordAudit(ctx, store.tokenAudit('destroy', former))
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
  await recordAudit(ctx, store.tokenAudit('create', row))
}

type CliToken = { username: string; description: string; expiresAt: Date | undefined }

/** Creates an API token without a permission check, for a caller with access to the database. Throws `StartError`. */
export async function createCliToken(db: Db, input: CliToken) {
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

/** Revokes a token immediately on every replica. The caller is authorised. */
export async function revokeToken(ctx: Ctx, id: string) {
  await transact(ctx, async (ctx) => {
    const token = await store.deleteToken(ctx.db, id)
    if (token) await recordAudit(ctx, store.tokenAudit('destroy', token))
  })
}

/** The user, for actors that may manage their API tokens: the user, but not with a team's token, and site administrators. */
export async function requireTokenOwner(ctx: Ctx, userId: string) {
  const { actor } = ctx
  const isAllowed =
    actor.kind === 'system' ||
    (actor.kind === 'user' && actor.teamId === undefined && (actor.userId === userId || actor.isSiteAdmin))
  const user = isAllowed ? await findUser(ctx.db, userId) : undefined
  // The tokens of a team's account follow the rules of team tokens.
  if (!user || user.is_service_account) throw notFound('user')
  return user
}
