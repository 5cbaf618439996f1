import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { invalid } from '../../../errors.ts'
import { tokenAudit } from './audit.ts'
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
