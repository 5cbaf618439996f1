import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { AppError, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireTokenOwner } from '../../identity/tokens/service.ts'
import { tokenAudit, tokenDeleted } from '../../identity/tokens/store.ts'
import * as store from '../../identity/tokens/store.ts'
import { requireOrganizationById } from '../organizations/access.ts'
import { requireTeamForTokens } from '../team-tokens/service.ts'

type Guard = (ctx: Ctx, token: store.TokenRow) => Promise<unknown>

/** The guard for tokens of each kind. Tokens of runs and task results cannot be managed. */
const GUARDS: Record<store.TokenRow['kind'], Guard | undefined> = {
  user: async (ctx, token) => requireTokenOwner(ctx, token.user_id ?? ''),
  team: async (ctx, token) => requireTeamForTokens(ctx, token.team_id ?? ''),
  organization: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  'audit-trails': async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  agent: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'agent-pools:manage'),
  run: undefined,
  task: undefined,
}

/** A token of any kind that the actor may manage. Throws only `not-found`: INTERFACE §5.2.1 has no 403 here. */
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

/** Revokes a token immediately on every replica. */
export async function deleteAuthenticationToken(ctx: Ctx, id: string) {
  const token = await requireToken(ctx, id)
  await audited(ctx, tokenAudit('destroy', token), async (ctx) => {
    await store.deleteToken(ctx.db, token.id)
    await raise(ctx, tokenDeleted, { tokenId: token.id })
  })
}
