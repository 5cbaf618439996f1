import type { UpdateTeam } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { ORGANIZATION_ACCESS } from '../../../auth/grants.ts'
import { type AccessColumns, checkHoldsAccess, type TeamPermission } from '../../../auth/team-permissions.ts'
import { transact } from '../../../db/db.ts'
import { forbidden } from '../../../errors.ts'
import { accessChanges } from './access-attributes.ts'
import { requireTeam } from './access.ts'
import { teamAudit } from './audit.ts'
import { teamSettingColumns, refuseTakenTeamName } from './settings.ts'
import * as store from './store.ts'
import { type Team } from './team.ts'

export async function updateTeam(ctx: Ctx, id: string, input: UpdateTeam): Promise<Team> {
  const { 'organization-access': given, ...settings } = input
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) checkOwnersSettings(team, input)
  const access = team.is_owners ? {} : accessChanges(given, team)
  const needed: TeamPermission[] = []
  if (Object.keys(access).length > 0) needed.push('organization-access:update')
  if (needed.length === 0 || Object.values(settings).some((value) => value !== undefined)) needed.push('team:update')
  const missing = needed.find((name) => !team.can.has(name))
  if (missing) throw forbidden(`this needs the permission ${missing} on the team ${team.name}`)
  checkHoldsAccess(team.access, withAccess(team, access), team.name)
  return refuseTakenTeamName(() =>
    transact(ctx, async (ctx) => {
      await store.updateTeam(ctx.db, id, {
        ...teamSettingColumns(input),
        ...access,
        name: input.name,
        updated_at: ctx.now(),
      })
      await recordAudit(
        ctx,
        teamAudit({ ...team, visibility: input.visibility ?? team.visibility }, 'update', { changes: input }),
      )
      const changed = await store.findTeam(ctx.db, ctx.actor, id)
      return { ...team, ...changed, access: team.access }
    }),
  )
}

/** What the team may do now, and what it may do after the change. */
function withAccess(team: AccessColumns, changes: AccessColumns): AccessColumns {
  return Object.fromEntries(ORGANIZATION_ACCESS.map((name) => [name, team[name] || changes[name]]))
}

/** The owners may do all there is, and are found by their name. */
function checkOwnersSettings(team: Team, input: UpdateTeam) {
  const renames = input.name !== undefined && input.name !== team.name
  const hides = input.visibility !== undefined && input.visibility !== team.visibility
  if (renames || hides || Object.values(input['organization-access'] ?? {}).includes(false)) {
    throw forbidden("the name, visibility and access of the owners team can't be changed")
  }
}
