import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { AppError, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireTokenOwner } from '../../identity/tokens/service.ts'
import { tokenAudit, tokenDeleted } from '../../identity/tokens/store.ts'
import * as store from '../../identity/tokens/store.ts'
import { requireOrganizationById } from '../organizations/access.ts'
import { requireTeamForTokens } from '../team-tokens/service.ts'

type Kind = store.TokenRow['kind']

/** The check for managing a token of each kind. Tokens of runs and task results can't be managed. */
const GUARDS: Record<Kind, ((ctx: Ctx, token: store.TokenRow) => Promise<unknown>) | undefined> = {
  user: async (ctx, token) => requireTokenOwner(ctx, token.user_id ?? ''),
  team: async (ctx, token) => requireTeamForTokens(ctx, token.team_id ?? ''),
  organization: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  'audit-trails': async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  agent: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'agent-pools:manage'),
  run: undefined,
  task: undefined,
}

/** A token of any kind that the actor may manage. Throws `not-found` for every other one: INTERFACE §5.2.1 knows no 403 here. */
export async function requireToken(ctx: Ctx, id: string) {
  const token = await store.findToken(ctx.db, id)
  const guard = token && GUARDS[token.kind]
  if (!token || !guard) throw notFound('token')
  try {
    await guard(ctx, token)
  } catch (error) {
    if (error instanceof AppError) throw notFound('token')
    throw error
  }
  return token
}

/** Ends a token at once, on every replica. */
export async function deleteAuthenticationToken(ctx: Ctx, id: string) {
  const token = await requireToken(ctx, id)
  await audited(ctx, tokenAudit('destroy', token), async (ctx) => {
    await store.deleteToken(ctx.db, token.id)
    await raise(ctx, tokenDeleted, { tokenId: token.id })
  })
}
