import type { CreateMembership } from '@groundstate/contract/memberships'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { refusal } from '../../../auth/permissions.ts'
import { announce, announceAccess } from '../../../changes/announce.ts'
import { type Page, type Paged, isUniqueViolation, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { requireOrganization } from '../organizations/access.ts'
import { type Team, checkHoldsAccess, listReadableTeams, requireTeam, teamNotice } from '../teams/access.ts'
import { checkOwnerRemains, insertTeam, listTeamsOfMemberships } from '../teams/service.ts'
import { deleteTeamMembers, insertInvitedMembers, insertTeamMembers } from '../teams/store.ts'
import {
  type Membership,
  type ShownMembership,
  membershipAudit,
  readableMembership,
  requireMembership,
} from './access.ts'
import { createInvitationLinks, mailNewMember } from './invitation-links.ts'
import { membershipResource } from './resource.ts'
import * as store from './store.ts'

type NewMembership = { organizationId: string; userId: string; viaSso?: boolean }

/** Makes an account an active member of the organization unless it is one, and accepts an invitation of its address. */
export async function insertMembership(ctx: TransactionCtx, { organizationId, userId, viaSso = false }: NewMembership) {
  const now = ctx.now()
  const accepted = await store.acceptInvitations(ctx.db, { userId, organizationId, now })
  const id = ctx.newId('ou')
  await store.insertUserMembership(ctx.db, { id, organizationId, userId, viaSso, now })
  const memberships = [id, ...accepted.map((membership) => membership.id)]
  announce(
    ctx,
    ...memberships.map((id) => ({ organization: organizationId, type: 'organization-memberships' as const, id })),
    ...accepted.flatMap(({ teams }) => teams.map((team) => ({ organization: organizationId, ...teamNotice(team) }))),
  )
  announceAccess(ctx, organizationId)
}

/** Invites an e-mail address. The user with that address becomes a member immediately, or once there is such a user. */
export async function createMembership(ctx: Ctx, organizationName: string, input: CreateMembership) {
  const organization = await requireOrganization(ctx, organizationName, 'members:manage')
  const { email } = input.attributes
  const teams = await requireTeams(ctx, organization.id, input.relationships.teams?.data.map(({ id }) => id) ?? [])
  try {
    return await transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('ou')
      const account = await store.findUserByEmail(ctx.db, email)
      await store.insertMembership(ctx.db, {
        id,
        organization_id: organization.id,
        email,
        ...(account ? { user_id: account.id } : { placeholder_id: ctx.newId('user') }),
        status: account ? 'active' : 'invited',
        created_at: now,
      })
      const teamIds = teams.map((team) => team.id)
      if (account && teamIds.length > 0) await insertTeamMembers(ctx.db, { teamIds, userIds: [account.id], now })
      else if (teamIds.length > 0) await insertInvitedMembers(ctx.db, { teamIds, membershipIds: [id], now })
      const meta = { email, teams: teams.map((team) => team.name) }
      await recordAudit(ctx, membershipAudit({ id, organization_id: organization.id }, 'create', meta))
      if (account) announce(ctx, ...teams.map((team) => ({ organization: organization.id, ...teamNotice(team) })))
      const invited = { id, email, organizationName: organization.name }
      if (account) await mailNewMember(ctx, invited)
      const link = account ? undefined : await createInvitationLinks(ctx, invited)
      return { membership: await requireMembership(ctx, id), link }
    })
  } catch (error) {
    if (
      isUniqueViolation(error, 'organization_memberships_user_key') ||
      isUniqueViolation(error, 'organization_memberships_invited_key')
    )
      throw invalid('Email has already been taken', '/data/attributes/email')
    throw error
  }
}

/** Replaces the links of an invitation. The caller could use the new one, so inviting into its teams must be allowed too. */
export async function resendInvitation(ctx: Ctx, id: string) {
  const membership = await requireMembership(ctx, id)
  const { email, organization_id: organizationId, organization_name: organizationName } = membership
  checkManagesMembers(membership)
  if (membership.status !== 'invited') throw conflict(`${email} is a member of ${organizationName} already`)
  const teams = await listTeamsOfMemberships(ctx, [membership])
  checkTeamsVisible(teams)
  const ids = teams.map((team) => team.id)
  await requireTeams(ctx, organizationId, ids)
  return audited(ctx, membershipAudit(membership, 'resend_invitation', { email }), (ctx) =>
    createInvitationLinks(ctx, { id, email, organizationName }),
  )
}

async function requireTeams(ctx: Ctx, organizationId: string, ids: readonly string[]): Promise<Team[]> {
  const teams = await listReadableTeams(ctx, ids)
  for (const [index, id] of ids.entries()) {
    const team = teams.find((team) => team.id === id && team.organization_id === organizationId)
    if (!team) throw invalid(`there is no team ${id} in the organization`, `/data/relationships/teams/data/${index}/id`)
    if (!team.can.has('members:manage')) throw refusal('members:manage', `on the team ${team.name}`)
  }
  await checkHoldsAccess(ctx, teams)
  return teams
}

/** Resources of memberships, with the teams that the caller may see. The caller is authorised. */
export async function showMemberships(ctx: Ctx, memberships: readonly ShownMembership[]) {
  const teams = (await listTeamsOfMemberships(ctx, memberships)).filter((team) => team.isVisible)
  const ofMembership = Map.groupBy(teams, (team) => team.membership_id)
  return memberships.map((membership) => {
    const teamIds = ofMembership.get(membership.id)?.map(({ id }) => id) ?? []
    return membershipResource(membership, teamIds)
  })
}

export async function showMembership(ctx: Ctx, membership: ShownMembership) {
  const [resource] = await showMemberships(ctx, [membership])
  if (!resource) throw new Error('every membership has a resource')
  return resource
}

type ListMemberships = Omit<store.MembershipFilter, 'organizationId'> & { page: Page }

export async function listMemberships(ctx: Ctx, name: string, { page, ...filter }: ListMemberships) {
  const organization = await requireOrganization(ctx, name, 'members:read')
  if (filter.teamId !== undefined) {
    const team = await requireTeam(ctx, filter.teamId, 'team:read')
    if (team.organization_id !== organization.id) throw notFound('team', { parameter: 'filter[team][id]' })
  }
  const list = await store.listMemberships(ctx.db, { ...filter, organizationId: organization.id }, { page })
  return { ...list, rows: list.rows.map((row): Membership => ({ ...row, access: organization.access })) }
}

export async function listOwnMemberships(ctx: Ctx, page: Page): Promise<Paged<Membership>> {
  const { actor } = ctx
  if (actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listMembershipsOfUser(ctx.db, actor, actor.userId, page)
  return { rows: rows.flatMap((row) => readableMembership(ctx, row) ?? []), total }
}

type ListTeamMemberships = Pick<ListMemberships, 'page' | 'status' | 'q'> & { byStatus: 'asc' | 'desc' | undefined }

export async function listTeamMemberships(
  ctx: Ctx,
  teamId: string,
  { page, status, q, byStatus }: ListTeamMemberships,
) {
  const team = await requireTeam(ctx, teamId, 'team:read')
  // The members of a visible team are no secret, but their addresses are.
  const seesEmails = organizationPermissions(team.access).has('members:read')
  const filter = {
    organizationId: team.organization_id,
    status,
    emails: undefined,
    q,
    teamId,
    hidesEmails: !seesEmails,
  }
  const { rows, total } = await store.listMemberships(ctx.db, filter, { page, byStatus })
  const isOwn = (row: store.MembershipRow) => ctx.actor.kind === 'user' && ctx.actor.userId === row.user_id
  const shown = (row: store.MembershipRow) => ({ ...row, access: team.access, hidesEmail: !seesEmails && !isOwn(row) })
  return { rows: rows.map(shown), total }
}

/**
 * Makes a user a member of the organizations that invited the user's address, which must be confirmed; or of that of one invitation, whose link
 * the user has. Returns their number.
 */
export async function acceptInvitations(ctx: TransactionCtx, userId: string, linkHash?: Buffer) {
  const memberships = await store.acceptInvitations(ctx.db, { userId, linkHash, now: ctx.now() })
  for (const { teams, email, ...membership } of memberships) {
    const change = { before: { status: 'invited' }, after: { status: 'active' } }
    await recordAudit(ctx, membershipAudit(membership, 'update', { email, ...change }))
    announce(ctx, ...teams.map((team) => ({ organization: membership.organization_id, ...teamNotice(team) })))
  }
  return memberships.length
}

/** Removes a person from the organization and its teams. Throws `forbidden` for owners who leave, the last owner and hidden teams. */
export async function deleteMembership(ctx: Ctx, id: string) {
  const membership = await requireMembership(ctx, id)
  await transact(ctx, async (ctx) => {
    const teams = await listTeamsOfMemberships(ctx, [membership])
    checkRemoval(ctx, membership, teams)
    const teamIds = teams.map((team) => team.id)
    if (membership.user_id !== null && teamIds.length > 0)
      await deleteTeamMembers(ctx.db, teamIds, [membership.user_id])
    await store.deleteMembership(ctx.db, id)
    if (teams.some((team) => team.is_owners)) await checkOwnerRemains(ctx, membership.organization_id)
    await recordAudit(ctx, membershipAudit(membership, 'destroy', { email: membership.email }))
    announce(ctx, ...teams.map((team) => ({ organization: membership.organization_id, ...teamNotice(team) })))
  })
}

type Teams = Awaited<ReturnType<typeof listTeamsOfMemberships>>

function checkRemoval(ctx: TransactionCtx, membership: Membership, teams: Teams) {
  const { access } = membership
  const isOwner = teams.some((team) => team.is_owners)
  if (ctx.actor.kind === 'user' && ctx.actor.userId === membership.user_id) {
    if (isOwner) throw forbidden('you are an owner: leave the owners team before you leave the organization')
    return
  }
  checkManagesMembers(membership)
  if (isOwner && access.role !== 'owner' && access.role !== 'system') throw forbidden('only owners may remove an owner')
  checkTeamsVisible(teams)
}

function checkManagesMembers({ access, organization_name: name }: Membership) {
  if (!organizationPermissions(access).has('members:manage'))
    throw refusal('members:manage', `in the organization ${name}`)
}

function checkTeamsVisible(teams: Teams) {
  if (teams.some((team) => !team.isVisible))
    throw forbidden('the member is in a team that you may not see: ask an owner')
}

export async function insertOwnersTeam(ctx: TransactionCtx, organizationId: string, userId: string) {
  const teamId = await insertTeam(ctx, { organizationId, name: 'owners', isOwners: true })
  await insertMembership(ctx, { organizationId, userId })
  await insertTeamMembers(ctx.db, { teamIds: [teamId], userIds: [userId], now: ctx.now() })
}
