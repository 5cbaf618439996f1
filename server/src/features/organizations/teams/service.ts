import type { CreateTeam, TeamResource, UpdateTeam } from '@groundstate/contract/teams'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { ORGANIZATION_ACCESS } from '../../../auth/grants.ts'
import {
  type AccessColumns,
  type TeamPermission,
  checkHoldsAccess,
  teamPermissions,
} from '../../../auth/team-permissions.ts'
import { type Page, type Paged, transact } from '../../../db/db.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { requireOrganization } from '../organizations/access.ts'
import { type Team, presentTeam, requireTeam, teamAccess, teamAudit } from './access.ts'
import { insertTeamMembers, listMembers } from './members-store.ts'
import * as membersStore from './members-store.ts'
import { teamResource } from './resource.ts'
import { accessChanges, refuseTakenTeamName, teamSettingColumns } from './settings.ts'
import * as store from './store.ts'

type NewTeam = { organizationId: string; name: string; isOwners?: boolean }

/** A team comes with the service account as which its tokens act, and which is a member of it. Returns the team's id. */
export async function insertTeam(
  ctx: TransactionCtx,
  input: NewTeam,
  columns: Partial<store.TeamRow> = {},
): Promise<string> {
  const now = ctx.now()
  const userId = ctx.newId('user')
  const teamId = ctx.newId('team')
  await store.insertServiceUser(ctx.db, { id: userId, username: `api-team_${randomText(12)}`, now })
  await store.insertTeam(ctx.db, {
    ...columns,
    id: teamId,
    organization_id: input.organizationId,
    name: input.name,
    is_owners: input.isOwners ?? false,
    service_user_id: userId,
    created_at: now,
    updated_at: now,
  })
  await insertTeamMembers(ctx.db, { teamId, userIds: [userId], now })
  return teamId
}

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
async function showNewTeam(ctx: Ctx, id: string, access: AccessContext): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  if (!row) throw notFound('team')
  const { access: _, ...team } = row
  return { ...team, access, can: teamPermissions(access, { ...teamAccess(ctx.actor, row), isMember: true }) }
}

/** Presents teams with their members. The caller has authorised the teams. */
export async function showTeams(ctx: Ctx, teams: readonly Team[]): Promise<TeamResource[]> {
  const members = await listMembers(
    ctx.db,
    teams.map(({ id }) => id),
  )
  const ofTeam = Map.groupBy(members, (member) => member.team_id)
  return teams.map((team) => teamResource(team, ofTeam.get(team.id) ?? []))
}

/** As `showTeams`, for one. */
export async function showTeam(ctx: Ctx, team: Team) {
  const [resource] = await showTeams(ctx, [team])
  if (!resource) throw new Error('every team has a resource')
  return resource
}

type ListTeams = { page: Page; names: readonly string[] | undefined; q: string | undefined }

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

/** The teams of each membership (by id) that the actor may see; `facts` are those of their organization, by its id. */
export async function listVisibleTeams(
  ctx: Ctx,
  memberships: readonly { id: string; organization_id: string }[],
  access: (organizationId: string) => AccessContext | undefined,
) {
  const organizations = new Map(memberships.map((membership) => [membership.id, membership.organization_id]))
  const rows = await membersStore.listTeamsOfMemberships(ctx.db, [...organizations.keys()], actorUserId(ctx.actor))
  const teams = new Map<string, string[]>()
  for (const row of rows) {
    const known = access(organizations.get(row.membership_id) ?? '')
    if (!known || !teamPermissions(known, teamAccess(ctx.actor, row)).has('team:read')) continue
    teams.set(row.membership_id, [...(teams.get(row.membership_id) ?? []), row.id])
  }
  return teams
}

/** All teams of a membership, with what decides about its removal. */
export async function listTeamsOfMembership(ctx: TransactionCtx, membership: { id: string; access: AccessContext }) {
  const rows = await membersStore.listTeamsOfMemberships(ctx.db, [membership.id], actorUserId(ctx.actor))
  return rows.map((row) => ({
    id: row.id,
    isOwners: row.is_owners,
    visibility: row.visibility,
    isVisible: teamPermissions(membership.access, teamAccess(ctx.actor, row)).has('team:read'),
  }))
}

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

/** The team's access before and after the change. */
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

/** Deletes the team with its tokens and all that it was granted. */
export async function deleteTeam(ctx: Ctx, id: string) {
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) throw forbidden("the owners team can't be deleted")
  if (!team.can.has('team:delete')) throw forbidden(`this needs the permission team:delete on the team ${team.name}`)
  await transact(ctx, async (ctx) => {
    await store.deleteTeam(ctx.db, id)
    // Runs and states name the account as their maker, so it stays; nothing can act as it any more.
    await store.suspendServiceUser(ctx.db, team.service_user_id, ctx.now())
    await recordAudit(ctx, teamAudit(team, 'destroy'))
  })
}
