import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { checkHoldsAccess } from '../../../auth/team-permissions.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { type Team, requireTeam, teamAudit } from './access.ts'
import * as store from './store.ts'

type Members = { userIds: string[]; membershipIds: string[] }

/**
 * Adds members of the organization to a team, by usernames or by ids of memberships; only the latter include invited users, who join
 * once they have an account.
 */
export async function addTeamMembers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  checkHoldsAccess(team.access, team, team.name)
  const { userIds, membershipIds } = await findMembers(ctx, team, identifiers)
  await audited(ctx, teamAudit(team, 'add_member', { members: [...userIds, ...membershipIds] }), async (ctx) => {
    const now = ctx.now()
    await store.insertTeamMembers(ctx.db, { teamId: team.id, userIds, now })
    await store.insertInvitedMembers(ctx.db, { teamId: team.id, membershipIds, now })
  })
}

export async function removeTeamMembers(ctx: Ctx, teamId: string, identifiers: readonly Identifier[]) {
  const team = await requireTeam(ctx, teamId, 'members:manage')
  const { userIds, membershipIds } = await findMembers(ctx, team, identifiers)
  await audited(ctx, teamAudit(team, 'remove_member', { members: [...userIds, ...membershipIds] }), async (ctx) => {
    if (team.is_owners) await store.lockOwnersTeam(ctx.db, team.organization_id)
    await store.deleteTeamMembers(ctx.db, team.id, userIds)
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

export async function leaveTeams(ctx: TransactionCtx, userId: string, teamIds: readonly string[]) {
  for (const teamId of teamIds) await store.deleteTeamMembers(ctx.db, teamId, [userId])
}

/** Throws `forbidden` after the removal of the last owner, in its transaction: nobody could change the organization any more. */
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
