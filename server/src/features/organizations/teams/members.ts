import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import type { Facts } from '../../../auth/permissions.ts'
import { checkHoldsAccess, teamPermissions } from '../../../auth/team-permissions.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import * as store from './members-store.ts'
import { requireTeam, type Team, teamFacts } from './service.ts'
import { recordAudit } from '../../../audit/record.ts'

/** Adds members of the organization to a team; the ids of the identifiers are usernames. */
export async function addTeamUsers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeamToJoin(ctx, teamId)
  await addMembers(ctx, team, { userIds: await findUsers(ctx, team, identifiers), membershipIds: [] })
}

export async function removeTeamUsers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  await removeMembers(ctx, team, { userIds: await findUsers(ctx, team, identifiers), membershipIds: [] })
}

/** As `addTeamUsers`, by the ids of memberships: invited people too, who join once they have an account. */
export async function addTeamMemberships(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeamToJoin(ctx, teamId)
  await addMembers(ctx, team, await findMemberships(ctx, team, identifiers))
}

export async function removeTeamMemberships(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  await removeMembers(ctx, team, await findMemberships(ctx, team, identifiers))
}

async function requireTeamToJoin(ctx: Ctx, teamId: string) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  checkHoldsAccess(team.facts, team, team.name)
  return team
}

type Members = { userIds: string[]; membershipIds: string[] }

async function findUsers(ctx: Ctx, team: Team, identifiers: readonly Identifier[]) {
  const names = identifiers.map(({ id }) => id)
  const rows = await store.findMembersByName(ctx.db, team.organization_id, names)
  const ids = new Map(rows.map((row) => [row.username.toLowerCase(), row.id]))
  return names.map((name, index) => {
    const id = ids.get(name.toLowerCase())
    if (id === undefined) throw invalid(`there is no member ${name} in the organization`, `/data/${index}/id`)
    return id
  })
}

async function findMemberships(ctx: Ctx, team: Team, identifiers: readonly Identifier[]): Promise<Members> {
  const ids = identifiers.map(({ id }) => id)
  const rows = await store.findMembershipsByIds(ctx.db, team.organization_id, ids)
  const missing = ids.findIndex((id) => !rows.some((row) => row.id === id))
  if (missing >= 0) throw invalid(`there is no membership ${ids[missing]} in the organization`, `/data/${missing}/id`)
  return {
    userIds: rows.flatMap((row) => row.user_id ?? []),
    membershipIds: rows.flatMap((row) => (row.user_id === null ? row.id : [])),
  }
}

async function addMembers(ctx: Ctx, team: Team, { userIds, membershipIds }: Members) {
  await transact(ctx, async (ctx) => {
    const now = ctx.now()
    await store.insertTeamMembers(ctx.db, { teamId: team.id, userIds, now })
    await store.insertInvitedMembers(ctx.db, { teamId: team.id, membershipIds, now })
    await recordMembers(ctx, team, 'add_member', { userIds, membershipIds })
  })
}

async function removeMembers(ctx: Ctx, team: Team, { userIds, membershipIds }: Members) {
  await transact(ctx, async (ctx) => {
    if (team.is_owners) await store.lockOwnersTeam(ctx.db, team.organization_id)
    await store.deleteTeamMembers(ctx.db, team.id, userIds)
    await store.deleteInvitedMembers(ctx.db, team.id, membershipIds)
    if (team.is_owners) await checkOwnerRemains(ctx, team.organization_id)
    await recordMembers(ctx, team, 'remove_member', { userIds, membershipIds })
  })
}

async function recordMembers(ctx: TransactionCtx, team: Team, action: string, { userIds, membershipIds }: Members) {
  await recordAudit(ctx, {
    organizationId: team.organization_id,
    action,
    resource: { type: 'team', id: team.id },
    meta: { name: team.name, members: [...userIds, ...membershipIds] },
  })
}

/**
 * Checked after owners have been taken away, in the same transaction: an organization without owners could never be
 * changed again. Throws `forbidden`.
 */
export async function checkOwnerRemains(ctx: TransactionCtx, organizationId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  if ((await store.countMembers(ctx.db, owners.id)) > 0) return
  throw forbidden('the owners team must keep at least one member: add another owner first')
}

/** Whether the organization would be without owners if the user were none. Holds the lock that orders such changes. */
export async function isLastOwner(ctx: TransactionCtx, organizationId: string, userId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  return !(await store.hasOtherMembers(ctx.db, owners.id, userId))
}

/** Takes a user out of the teams of those ids. */
export async function leaveTeams(ctx: TransactionCtx, userId: string, teamIds: readonly string[]) {
  for (const teamId of teamIds) await store.deleteTeamMembers(ctx.db, teamId, [userId])
}

/** The teams of each membership (by id) that the actor may see; `facts` are those of their organization, by its id. */
export async function listVisibleTeams(
  ctx: Ctx,
  memberships: readonly { id: string; organization_id: string }[],
  facts: (organizationId: string) => Facts | undefined,
) {
  const organizations = new Map(memberships.map((membership) => [membership.id, membership.organization_id]))
  const rows = await store.listTeamsOfMemberships(ctx.db, [...organizations.keys()], actorUserId(ctx.actor))
  const teams = new Map<string, string[]>()
  for (const row of rows) {
    const known = facts(organizations.get(row.membership_id) ?? '')
    if (!known || !teamPermissions(known, teamFacts(ctx.actor, row)).has('team:read')) continue
    teams.set(row.membership_id, [...(teams.get(row.membership_id) ?? []), row.id])
  }
  return teams
}

/** All teams of a membership, with what decides about its removal. */
export async function listTeamsOfMembership(ctx: TransactionCtx, membership: { id: string; facts: Facts }) {
  const rows = await store.listTeamsOfMemberships(ctx.db, [membership.id], actorUserId(ctx.actor))
  return rows.map((row) => ({
    id: row.id,
    isOwners: row.is_owners,
    isVisible: teamPermissions(membership.facts, teamFacts(ctx.actor, row)).has('team:read'),
  }))
}
