import type { CreateTeam } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import { checkHoldsAccess, teamPermissions } from '../../../auth/team-permissions.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { requireOrganization } from '../organizations/access.ts'
import { accessChanges } from './access-attributes.ts'
import { teamAudit } from './audit.ts'
import { insertTeam } from './insert.ts'
import { refuseTakenTeamName, teamSettingColumns } from './settings.ts'
import * as store from './store.ts'
import { type Team, teamAccess } from './team.ts'

export async function createTeam(ctx: Ctx, organizationName: string, input: CreateTeam): Promise<Team> {
  const organization = await requireOrganization(ctx, organizationName, 'teams:manage')
  const access = accessChanges(input['organization-access'], {})
  if (Object.values(access).includes(true) && !organization.can.has('teams:manage-access')) {
    throw forbidden(`this needs the permission teams:manage-access in the organization ${organization.name}`)
  }
  checkHoldsAccess(organization.access, access, input.name)
  return refuseTakenTeamName(() =>
    transact(ctx, async (ctx) => {
      const id = await insertTeam(
        ctx,
        { organizationId: organization.id, name: input.name },
        { ...teamSettingColumns(input), ...access },
      )
      await recordAudit(
        ctx,
        teamAudit(
          { id, name: input.name, organization_id: organization.id, visibility: input.visibility ?? 'secret' },
          'create',
          {
            changes: input,
          },
        ),
      )
      return showNewTeam(ctx, id, organization.access)
    }),
  )
}

/** A team that was just made, which its maker sees whatever its visibility. */
export async function showNewTeam(ctx: Ctx, id: string, access: AccessContext): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  if (!row) throw notFound('team')
  const { access: _, ...team } = row
  return { ...team, access, can: teamPermissions(access, { ...teamAccess(ctx.actor, row), isMember: true }) }
}
