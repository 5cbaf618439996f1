import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { tokenAudit } from '../../identity/tokens/audit.ts'
import { type IssuedToken, reissueToken } from '../../identity/tokens/issue.ts'
import { hideTokens, requireTeamForNewToken, requireTeamForTokens } from './access.ts'
import * as store from './store.ts'
import { tokenSubject } from './token-subject.ts'

/** The team's one token without a name. */
export async function showLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  const token = await store.findLegacyToken(ctx.db, team.id)
  if (!token) throw notFound('token')
  return token
}

/** Makes the team's one token without a name, and revokes the one that was there. */
export async function createLegacyTeamToken(ctx: Ctx, teamId: string, input: CreateToken): Promise<IssuedToken> {
  const team = await requireTeamForNewToken(ctx, teamId)
  const { description: _, ...rest } = input
  return reissueToken(ctx, { ...tokenSubject(team), is_legacy: true }, rest)
}

export async function deleteLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  await transact(ctx, async (ctx) => {
    const token = await store.deleteLegacyToken(ctx.db, team.id)
    if (!token) throw notFound('token')
    await recordAudit(ctx, tokenAudit('destroy', token))
  })
}
