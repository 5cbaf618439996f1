import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import { requireOrganization } from '../organizations/access.ts'
import { hideTokens, requireTeamForTokens } from './access.ts'
import * as store from './store.ts'

export type ListTeamTokens = Pick<store.TeamTokenQuery, 'q' | 'expiry' | 'sort' | 'descending'> & { page: Page }

export async function listTokensOfTeam(ctx: Ctx, teamId: string, { page, ...query }: ListTeamTokens) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  const scope = { all: true, owners: true, memberId: undefined }
  const where = { organizationId: team.organization_id, teamId: team.id, scope, now: ctx.now() }
  return store.listTeamTokens(ctx.db, { ...query, ...where }, page)
}

/** The team tokens of an organization that the actor may manage. */
export async function listTeamTokens(ctx: Ctx, name: string, { page, ...query }: ListTeamTokens) {
  const { id, can } = await requireOrganization(ctx, name, 'organization:read')
  const isPerson = ctx.actor.kind === 'user' && ctx.actor.teamId === undefined
  const scope = {
    all: can.has('tokens:manage') || can.has('teams:manage'),
    owners: can.has('tokens:manage'),
    memberId: ctx.actor.kind === 'user' && isPerson ? ctx.actor.userId : undefined,
  }
  return store.listTeamTokens(ctx.db, { ...query, organizationId: id, scope, now: ctx.now() }, page)
}
