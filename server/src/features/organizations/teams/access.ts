import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type AccessContext, listedAccess, readAccessContext } from '../../../auth/access-context.ts'
import { type Actor, actorUserId } from '../../../auth/actor.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import {
  type AccessColumns,
  type TeamAccessContext,
  type TeamPermission,
  holdsGrant,
  missingAccess,
  teamPermissions,
} from '../../../auth/team-permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import type { Notice } from '../../../changes/feed.ts'
import { forbidden, notFound } from '../../../errors.ts'
import * as store from './store.ts'

/** Throws `not-found` when the actor may not see the team, `forbidden` without the permission. */
export async function requireTeam(ctx: Ctx, id: string, permission: TeamPermission): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  const team = row && readableTeam(ctx, row)
  if (!team) throw notFound('team')
  checkSignInPolicy(team.access)
  if (!team.can.has(permission)) throw forbidden(`this needs the permission ${permission} on the team ${team.name}`)
  return team
}

function readableTeam(ctx: Ctx, row: FoundTeam): Team | undefined {
  const { access: column, ...team } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: column })
  return presentTeam(ctx, team, access)
}

export function presentTeam(ctx: Ctx, row: Omit<FoundTeam, 'access'>, access: AccessContext): Team | undefined {
  const can = teamPermissions(access, teamAccess(ctx.actor, row))
  return can.has('team:read') ? { ...row, can, access } : undefined
}

export async function listReadableTeams(ctx: Ctx, ids: readonly string[]): Promise<Team[]> {
  if (ids.length === 0) return []
  const rows = await store.findTeams(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => readableTeam(ctx, row) ?? [])
}

type HeldTeam = AccessColumns & Pick<Team, 'name' | 'access'> & Partial<Pick<Team, 'id' | 'is_member'>>

/**
 * Throws `forbidden` for a member of the organization that would gain access by managing its `teams`: adding somebody, creating a token, or
 * changing a name, single sign-on or access. A team has its access to the organization after the change, and no id before its creation.
 */
export async function checkHoldsAccess(ctx: Ctx, teams: readonly HeldTeam[]) {
  for (const team of teams) {
    const missing = missingAccess(team.access, team)
    if (missing.length === 0) continue
    const names = missing.map((name) => name.replaceAll('_', '-')).join(', ')
    throw forbidden(`the team ${team.name} has organization access that you lack: ${names}`)
  }
  const limited = teams.filter(
    ({ access: { role, organizationAccess }, is_member: isMember }) =>
      role === 'member' && !organizationAccess.has('manage_projects') && !isMember,
  )
  const ids = limited.flatMap(({ id }) => id ?? [])
  if (ids.length === 0) return
  for (const { first, noun, grant, held } of await store.listGrantsOfTeams(ctx.db, actorUserId(ctx.actor), ids)) {
    const [teamId, name] = first
    const team = limited.find(({ id }) => id === teamId)
    const access = team && listedAccess(team.access, held)
    if (!access || holdsGrant(access, grant)) continue
    const isVisible = (noun === 'project' ? projectPermissions(access) : workspacePermissions(access)).size > 0
    const where = isVisible ? `the ${noun} ${name}` : `a ${noun} that you may not see`
    throw forbidden(`the team ${team.name} has more access than you on ${where}`)
  }
}

/** The owners team, in whose name an organization's token locks workspaces. */
export async function findOwnersTeamId(ctx: Ctx, organizationId: string) {
  return (await store.findOwnersTeam(ctx.db, organizationId)).id
}

type FoundTeam = NonNullable<Awaited<ReturnType<typeof store.findTeam>>>

/** A team that the actor may see, with the actor's permissions on it. */
export type Team = Omit<FoundTeam, 'access'> & { can: ReadonlySet<TeamPermission>; access: AccessContext }

type TeamColumns = Pick<FoundTeam, 'is_owners' | 'visibility' | 'allow_member_token_management' | 'is_member'>

export function teamAccess(actor: Actor, row: TeamColumns): TeamAccessContext {
  return {
    isOwners: row.is_owners,
    visibility: row.visibility,
    allowsMemberTokens: row.allow_member_token_management,
    isMember: row.is_member,
    isPerson: actor.kind === 'user' && actor.teamId === undefined,
  }
}

type AuditedTeam = Pick<store.TeamRow, 'id' | 'visibility' | 'name' | 'organization_id'>

export function teamAudit(team: AuditedTeam, action: string, meta?: object): AuditEvent {
  const { id, name, organization_id: organizationId } = team
  return {
    organizationId,
    action,
    resource: { type: 'team', id },
    meta: { name, ...meta },
    notices: [teamNotice(team)],
    changesAccess: true,
  }
}

/** Members of the organization see a team unless it is secret; its own members always see it. */
export function teamNotice({ id, visibility }: Pick<AuditedTeam, 'id' | 'visibility'>): Omit<Notice, 'organization'> {
  return { type: 'teams', id, ...(visibility === 'secret' && { teams: [id] }) }
}
