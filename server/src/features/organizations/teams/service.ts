import type { Identifier } from '@groundstate/contract/json-api'
import type { CreateTeam, OrganizationAccessInput, TeamResource, UpdateTeam } from '@groundstate/contract/teams'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit, audited } from '../../../audit/record.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { ORGANIZATION_ACCESS, type OrganizationAccess } from '../../../auth/grants.ts'
import { refusal } from '../../../auth/permissions.ts'
import { type AccessColumns, type TeamPermission, teamPermissions } from '../../../auth/team-permissions.ts'
import { type Page, type Paged, rejectTakenName, transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { requireOrganization } from '../organizations/access.ts'
import { type Team, checkHoldsAccess, presentTeam, requireTeam, teamAccess, teamAudit } from './access.ts'
import { attributeName, teamResource } from './resource.ts'
import * as store from './store.ts'

type NewTeam = { organizationId: string; name: string; isOwners?: boolean }

/** Inserts a team with its service account, a member as which the team's tokens act. Returns the team's id. */
export async function insertTeam(ctx: TransactionCtx, input: NewTeam, columns: Partial<store.TeamRow> = {}) {
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
  await store.insertTeamMembers(ctx.db, { teamIds: [teamId], userIds: [userId], now })
  return teamId
}

export async function createTeam(ctx: Ctx, organizationName: string, input: CreateTeam): Promise<Team> {
  const organization = await requireOrganization(ctx, organizationName, 'teams:manage')
  const access = accessChanges(input['organization-access'], {})
  if (Object.values(access).includes(true) && !organization.can.has('teams:manage-access')) {
    throw refusal('teams:manage-access', `in the organization ${organization.name}`)
  }
  await checkHoldsAccess(ctx, [{ ...access, name: input.name, access: organization.access }])
  return rejectTakenName(UNIQUE_NAME, async () =>
    transact(ctx, async (ctx) => {
      const { name, visibility = 'secret' } = input
      const columns = { ...teamSettingColumns(input), ...access }
      const id = await insertTeam(ctx, { organizationId: organization.id, name }, columns)
      const team = { id, name, organization_id: organization.id, visibility }
      await recordAudit(ctx, teamAudit(team, 'create', { changes: input }))
      return showNewTeam(ctx, id, organization.access)
    }),
  )
}

const UNIQUE_NAME = { constraint: 'teams_name_key' }

function teamSettingColumns(input: UpdateTeam) {
  return {
    ...(input.description !== undefined && { description: input.description || null }),
    ...(input['sso-team-id'] !== undefined && { sso_team_id: input['sso-team-id'] || null }),
    ...(input.visibility !== undefined && { visibility: input.visibility }),
    ...(input['allow-member-token-management'] !== undefined && {
      allow_member_token_management: input['allow-member-token-management'],
    }),
  }
}

/** A new team, which its creator sees regardless of its visibility. */
async function showNewTeam(ctx: Ctx, id: string, access: AccessContext): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  if (!row) throw notFound('team')
  const { access: _, ...team } = row
  return { ...team, access, can: teamPermissions(access, { ...teamAccess(ctx.actor, row), isMember: true }) }
}

export async function showTeams(ctx: Ctx, teams: readonly Team[]): Promise<TeamResource[]> {
  const ids = teams.map(({ id }) => id)
  const ofTeam = Map.groupBy(await store.listMembers(ctx.db, ids), (member) => member.team_id)
  return teams.map((team) => teamResource(team, ofTeam.get(team.id) ?? []))
}

export async function showTeam(ctx: Ctx, team: Team) {
  const [resource] = await showTeams(ctx, [team])
  if (!resource) throw new Error('every team has a resource')
  return resource
}

type ListTeams = { page: Page; names: readonly string[] | undefined; q: string | undefined }

export async function listTeams(ctx: Ctx, name: string, { page, names, q }: ListTeams): Promise<Paged<Team>> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const { access, can } = organization
  // Runs see the organization but none of its teams.
  if (access.role.endsWith('-run')) return { rows: [], total: 0 }
  const all = access.role !== 'member' || can.has('teams:read-all')
  const filter = { organizationId: organization.id, all, names, q }
  const { rows, total } = await store.listTeams(ctx.db, ctx.actor, filter, page)
  return { rows: rows.flatMap((row) => presentTeam(ctx, row, access) ?? []), total }
}

type TeamsOwner = { id: string; access: AccessContext }

/** The teams of memberships, and whether the actor may see them. */
export async function listTeamsOfMemberships(ctx: Ctx, memberships: readonly TeamsOwner[]) {
  const access = new Map(memberships.map((membership) => [membership.id, membership.access]))
  const rows = await store.listTeamsOfMemberships(ctx.db, [...access.keys()], actorUserId(ctx.actor))
  return rows.map((row) => {
    const known = access.get(row.membership_id)
    const isVisible = known && teamPermissions(known, teamAccess(ctx.actor, row)).has('team:read')
    return { ...row, isVisible: isVisible === true }
  })
}

export async function updateTeam(ctx: Ctx, id: string, input: UpdateTeam): Promise<Team> {
  const { 'organization-access': accessInput, ...settings } = input
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) checkOwnersSettings(team, input)
  const access = team.is_owners ? {} : accessChanges(accessInput, team)
  const required: TeamPermission[] = []
  if (Object.keys(access).length > 0) required.push('organization-access:update')
  if (required.length === 0 || Object.values(settings).some((value) => value !== undefined))
    required.push('team:update')
  const missing = required.find((name) => !team.can.has(name))
  if (missing) throw refusal(missing, `on the team ${team.name}`)
  const columns = { ...teamSettingColumns(input), ...access, name: input.name }
  // Names and SSO ids determine whom single sign-on adds.
  const guarded = ['name', 'sso_team_id', ...ORGANIZATION_ACCESS] as const
  if (guarded.some((name) => columns[name] !== undefined && columns[name] !== team[name])) {
    const beforeOrAfter = Object.fromEntries(ORGANIZATION_ACCESS.map((name) => [name, team[name] || access[name]]))
    await checkHoldsAccess(ctx, [{ ...team, ...beforeOrAfter }])
  }
  return rejectTakenName(UNIQUE_NAME, async () =>
    transact(ctx, async (ctx) => {
      await store.updateTeam(ctx.db, id, { ...columns, updated_at: ctx.now() })
      const audited = { ...team, visibility: input.visibility ?? team.visibility }
      const settings = { before: team, columns }
      await recordAudit(ctx, { ...teamAudit(audited, 'update', { changes: input }), settings })
      const changed = await store.findTeam(ctx.db, ctx.actor, id)
      return { ...team, ...changed, access: team.access }
    }),
  )
}

/** Owners have all permissions, and their team is found by its name. */
function checkOwnersSettings(team: Team, input: UpdateTeam) {
  const renames = input.name !== undefined && input.name !== team.name
  const hides = input.visibility !== undefined && input.visibility !== team.visibility
  if (renames || hides || Object.values(input['organization-access'] ?? {}).includes(false)) {
    throw forbidden("the name, visibility and access of the owners team can't be changed")
  }
}

/** Deletes the team with its tokens and grants. */
export async function deleteTeam(ctx: Ctx, id: string) {
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) throw forbidden("the owners team can't be deleted")
  if (!team.can.has('team:delete')) throw refusal('team:delete', `on the team ${team.name}`)
  await transact(ctx, async (ctx) => {
    await store.deleteTeam(ctx.db, id)
    // Runs and states refer to the account as their creator, so it is kept, suspended.
    await store.suspendServiceUser(ctx.db, team.service_user_id, ctx.now())
    await recordAudit(ctx, teamAudit(team, 'destroy'))
  })
}

/** Access that requires other access: access to projects includes workspaces (public documentation, "Teams"). */
const REQUIRED = [
  ['manage_projects', 'manage_workspaces'],
  ['read_projects', 'read_workspaces'],
] as const

/** The columns that `input` changes, with the access that it requires. Throws `invalid` for required access set to false. */
function accessChanges(input: OrganizationAccessInput | null | undefined, current: AccessColumns) {
  const changes: AccessColumns = {}
  if (!input) return changes
  const set = (name: OrganizationAccess, value: boolean) => {
    if (value !== (current[name] ?? false)) changes[name] = value
  }
  for (const name of ORGANIZATION_ACCESS) {
    const value = input[attributeName(name)]
    if (value !== undefined) set(name, value)
  }
  for (const [name, required] of REQUIRED) {
    if (!(changes[name] ?? current[name])) continue
    const attribute = attributeName(required)
    if (input[attribute] === false) {
      throw invalid(
        `${attribute} can't be false while ${attributeName(name)} is true`,
        `/data/attributes/organization-access/${attribute}`,
      )
    }
    set(required, true)
  }
  return changes
}

type Members = { userIds: string[]; membershipIds: string[] }

/** Adds members by usernames, or by ids of memberships; only these include invited users, who join once they have an account. */
export async function addTeamMembers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  await checkHoldsAccess(ctx, [team])
  const { userIds, membershipIds } = await findMembers(ctx, team, identifiers)
  await audited(ctx, teamAudit(team, 'add_member', { members: [...userIds, ...membershipIds] }), async (ctx) => {
    const now = ctx.now()
    await store.insertTeamMembers(ctx.db, { teamIds: [teamId], userIds, now })
    await store.insertInvitedMembers(ctx.db, { teamIds: [teamId], membershipIds, now })
  })
}

export async function removeTeamMembers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  const { userIds, membershipIds } = await findMembers(ctx, team, identifiers)
  await audited(ctx, teamAudit(team, 'remove_member', { members: [...userIds, ...membershipIds] }), async (ctx) => {
    if (team.is_owners) await store.lockOwnersTeam(ctx.db, team.organization_id)
    await store.deleteTeamMembers(ctx.db, [teamId], userIds)
    await store.deleteInvitedMembers(ctx.db, team.id, membershipIds)
    if (team.is_owners) await checkOwnerRemains(ctx, team.organization_id)
  })
}

async function findMembers(ctx: Ctx, team: Team, identifiers: readonly Identifier[]): Promise<Members> {
  const ids = identifiers.map(({ id }) => id)
  if (identifiers[0]?.type === 'organization-memberships') return findMemberships(ctx, team, ids)
  return { userIds: await findUsers(ctx, team, ids), membershipIds: [] }
}

async function findUsers(ctx: Ctx, team: Team, names: readonly string[]) {
  const rows = await store.findMembersByName(ctx.db, team.organization_id, names)
  const ids = new Map(rows.map((row) => [row.username.toLowerCase(), row.id]))
  return names.map((name, index) => {
    const id = ids.get(name.toLowerCase())
    if (id === undefined) throw invalid(`there is no member ${name} in the organization`, `/data/${index}/id`)
    return id
  })
}

async function findMemberships(ctx: Ctx, team: Team, ids: readonly string[]): Promise<Members> {
  const rows = await store.findMembershipsByIds(ctx.db, team.organization_id, ids)
  const missing = ids.findIndex((id) => !rows.some((row) => row.id === id))
  if (missing >= 0) throw invalid(`there is no membership ${ids[missing]} in the organization`, `/data/${missing}/id`)
  return {
    userIds: rows.flatMap((row) => row.user_id ?? []),
    membershipIds: rows.flatMap((row) => (row.user_id === null ? row.id : [])),
  }
}

/** Throws `forbidden` after the removal of the last owner, in its transaction: otherwise no user could change the organization any more. */
export async function checkOwnerRemains(ctx: TransactionCtx, organizationId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  if (await store.hasMembers(ctx.db, owners.id)) return
  throw forbidden('the owners team must keep at least one member: add another owner first')
}

/** Whether the user is the only owner of the organization. Takes the row lock that all removals of owners take. */
export async function isLastOwner(ctx: TransactionCtx, organizationId: string, userId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  return !(await store.hasMembers(ctx.db, owners.id, userId))
}
