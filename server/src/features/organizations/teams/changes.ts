import type { CreateTeam, UpdateTeam } from '@groundstate/contract/teams'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AccessColumns, checkHoldsAccess, type TeamPermission } from '../../../auth/team-permissions.ts'
import { ORGANIZATION_ACCESS } from '../../../auth/permissions.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { insertMembership } from '../organization-memberships/service.ts'
import { requireOrganization } from '../organizations/service.ts'
import { insertTeamMembers } from './members-store.ts'
import { accessChanges } from './organization-access.ts'
import { requireTeam, showNewTeam, type Team } from './service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'

/** Creates the owners team of a new organization, with its service account and its first member. */
export async function insertOwnersTeam(ctx: TransactionCtx, organizationId: string, userId: string) {
  const teamId = await insertTeam(ctx, { organizationId, name: 'owners', isOwners: true })
  await insertMembership(ctx, { organizationId, userId })
  await insertTeamMembers(ctx.db, { teamId, userIds: [userId], now: ctx.now() })
}

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
  checkHoldsAccess(organization.facts, access, input.name)
  return unique(() =>
    transact(ctx, async (ctx) => {
      const id = await insertTeam(
        ctx,
        { organizationId: organization.id, name: input.name },
        { ...settingColumns(input), ...access },
      )
      await recordAudit(ctx, {
        organizationId: organization.id,
        action: 'create',
        resource: { type: 'team', id },
        meta: { name: input.name },
      })
      return showNewTeam(ctx, id, organization.facts)
    }),
  )
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
  checkHoldsAccess(team.facts, withAccess(team, access), team.name)
  return unique(() =>
    transact(ctx, async (ctx) => {
      await store.updateTeam(ctx.db, id, {
        ...settingColumns(input),
        ...access,
        name: input.name,
        updated_at: ctx.now(),
      })
      await recordAudit(ctx, {
        organizationId: team.organization_id,
        action: 'update',
        resource: { type: 'team', id },
        meta: { name: team.name, changes: input },
      })
      const changed = await store.findTeam(ctx.db, ctx.actor, id)
      return { ...team, ...changed, facts: team.facts }
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

/** Deletes the team with its tokens and all that it was granted. */
export async function deleteTeam(ctx: Ctx, id: string) {
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) throw forbidden("the owners team can't be deleted")
  if (!team.can.has('team:delete')) throw forbidden(`this needs the permission team:delete on the team ${team.name}`)
  await transact(ctx, async (ctx) => {
    await store.deleteTeam(ctx.db, id)
    // Runs and states name the account as their maker, so it stays; nobody acts as it any more.
    await store.suspendServiceUser(ctx.db, team.service_user_id, ctx.now())
    await recordAudit(ctx, {
      organizationId: team.organization_id,
      action: 'destroy',
      resource: { type: 'team', id },
      meta: { name: team.name },
    })
  })
}

function settingColumns(input: UpdateTeam) {
  return {
    ...(input.description !== undefined && { description: input.description || null }),
    ...(input['sso-team-id'] !== undefined && { sso_team_id: input['sso-team-id'] || null }),
    ...(input.visibility !== undefined && { visibility: input.visibility }),
    ...(input['allow-member-token-management'] !== undefined && {
      allow_member_token_management: input['allow-member-token-management'],
    }),
  }
}

async function unique<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'teams_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
