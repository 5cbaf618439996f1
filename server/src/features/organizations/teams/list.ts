import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireOrganization } from '../organizations/access.ts'
import { presentTeam } from './access.ts'
import * as store from './store.ts'
import type { Team } from './team.ts'

export type ListTeams = { page: Page; names: readonly string[] | undefined; q: string | undefined }

export async function listTeams(ctx: Ctx, name: string, { page, names, q }: ListTeams): Promise<Paged<Team>> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const { access, can } = organization
  // Runs and other programs see the organization, and none of its teams.
  if (access.role.endsWith('-run')) return { rows: [], total: 0 }
  const filter = {
    organizationId: organization.id,
    all: access.role !== 'member' || can.has('teams:read-all'),
    names,
    q,
  }
  const { rows, total } = await store.listTeams(ctx.db, ctx.actor, filter, page)
  return { rows: rows.flatMap((row) => presentTeam(ctx, row, access) ?? []), total }
}
