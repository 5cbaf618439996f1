import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { invalid } from '../../../errors.ts'
import type { NewToken, TokenRow } from './store.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'

/** A new token and its text, which exists nowhere else: the database has its hash. */
export type IssuedToken = { token: TokenRow; text: string }

type Subject = Omit<NewToken, 'id' | 'hash' | 'created_at' | 'description' | 'expires_at'>

/** Makes a token for what `subject` names. Whoever calls this has authorised it. */
export async function issueToken(ctx: Ctx, subject: Subject, input: CreateToken): Promise<IssuedToken> {
  const { row, text } = newToken(ctx, subject, input)
  const token = await audited(ctx, tokenAudit('create', row), (ctx) => store.insertToken(ctx.db, row))
  return { token, text }
}

/** As `issueToken`, in the place of the one token that the subject can have. */
export async function reissueToken(ctx: Ctx, subject: Subject, input: CreateToken): Promise<IssuedToken> {
  const { row, text } = newToken(ctx, subject, input)
  const token = await audited(ctx, tokenAudit('create', row), (ctx) => store.replaceToken(ctx.db, row))
  return { token, text }
}

/** What the audit trail keeps of a change of a token: which one and whose, but nothing of its text. */
export function tokenAudit(action: 'create' | 'destroy', token: NewToken) {
  const { id, kind, description, user_id: user, team_id: team, agent_pool_id: agent_pool } = token
  return {
    organizationId: token.organization_id ?? undefined,
    action,
    resource: { type: 'authentication_token', id },
    // A person's own token; that of a team acts as an account which nobody knows.
    meta: { kind, description, ...(kind === 'user' ? { user } : { team, agent_pool }) },
  }
}

function newToken(ctx: Ctx, subject: Subject, input: CreateToken) {
  const text = newTokenText()
  const row: NewToken = {
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
