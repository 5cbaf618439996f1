import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkHoldsAccess } from '../../../auth/team-permissions.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { type Team, requireTeam, teamAudit } from './access.ts'
import * as store from './members-store.ts'

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
  checkHoldsAccess(team.access, team, team.name)
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
  await recordAudit(ctx, teamAudit(team, action, { members: [...userIds, ...membershipIds] }))
}

/** Removes a user from teams. */
export async function leaveTeams(ctx: TransactionCtx, userId: string, teamIds: readonly string[]) {
  for (const teamId of teamIds) await store.deleteTeamMembers(ctx.db, teamId, [userId])
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

/** Whether the user is the only owner of the organization. Takes the row lock that all removals of owners take. */
export async function isLastOwner(ctx: TransactionCtx, organizationId: string, userId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  return !(await store.hasOtherMembers(ctx.db, owners.id, userId))
}
