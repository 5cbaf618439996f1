import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { CUSTOM_PROJECT } from '../../../auth/grants.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { holdsGrant } from '../../../auth/team-permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { type Page, type Paged, isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { requireMembership } from '../../organizations/organization-memberships/access.ts'
import { listTeamsOfProject } from '../../organizations/organizations/store.ts'
import { requireTeam } from '../../organizations/teams/access.ts'
import { requireGrantSubject } from './access.ts'
import { type Grant, type GrantInput, type GrantKind, type ShownGrant, grantAttributes, grantColumns } from './store.ts'
import * as store from './store.ts'

type GrantChange = { subject: store.GrantSubject; teamId: string; action: string; meta: Record<string, string> }

async function grantAudit(
  ctx: Ctx,
  { noun }: GrantKind,
  { subject: { id, organizationId }, teamId, action, meta }: GrantChange,
): Promise<AuditEvent> {
  return {
    organizationId,
    action,
    resource: { type: noun, id },
    meta,
    notices: [
      noun === 'workspace'
        ? { type: 'workspaces', id, workspace: id }
        : { type: 'projects', id, teams: [teamId, ...(await listTeamsOfProject(ctx.db, id))] },
    ],
    changesAccess: true,
  }
}

type NewGrant = {
  attributes: GrantInput & { access: string }
  relationships: Readonly<Record<string, { data: { id: string } } | undefined>>
}

export async function createGrant(ctx: Ctx, kind: GrantKind, { attributes, relationships }: NewGrant): Promise<Grant> {
  const idOf = (name: string) => relationships[name]?.data.id ?? ''
  const subject = await requireGrantSubject(ctx, kind, { id: idOf(kind.noun), permission: 'team-access:manage' })
  const team = await requireTeam(ctx, idOf('team'), 'team:read')
  if (team.organization_id !== subject.organizationId) throw notFound('team')
  const columns = grantColumns(kind, attributes)
  const { access } = attributes
  checkHolds(kind, subject, { ...columns, access })
  const meta = { team: team.name, permissions: access }
  try {
    const event = await grantAudit(ctx, kind, { subject, teamId: team.id, action: 'add_team', meta })
    const row = await audited(ctx, event, (ctx) =>
      store.insertGrant(ctx.db, kind, {
        id: ctx.newId(kind.idPrefix),
        team_id: team.id,
        subject_id: subject.id,
        access,
        created_at: ctx.now(),
        ...columns,
      }),
    )
    return { ...row, subject }
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid(`Team has already been added to the ${kind.noun}`, '/data/relationships/team')
    throw error
  }
}

/**
 * Throws `forbidden` for more access to a project than the caller has: one that manages its teams need not be its administrator. Those who manage
 * the teams of a workspace have all that a grant on it can contain.
 */
function checkHolds({ noun }: GrantKind, { access }: store.GrantSubject, grant: store.NewAccess) {
  if (noun === 'workspace' || holdsGrant(access, { ...CUSTOM_PROJECT, ...grant })) return
  throw forbidden(`the access level ${grant.access} would give more access to the project than you have`)
}

/** Administrators see all grants, members those of their own teams (public documentation, "Team access", "Project team access"). */
export async function listGrants(
  ctx: Ctx,
  kind: GrantKind,
  { subjectId, teamId, page }: { subjectId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<Grant>> {
  const subject = await requireGrantSubject(ctx, kind, { id: subjectId, permission: 'read' })
  if (!subject.seesAllGrants && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = subject.seesAllGrants || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listGrants(ctx.db, kind, { subjectId, teamId, ofUser, page })
  return { rows: rows.map((row) => ({ ...row, subject })), total }
}

type TeamsGrants = {
  of: { teamId: string } | { membershipId: string }
  q: string | undefined
  page: Page
}

/** Grants of a team, or of a member's teams, on all workspaces or projects; only those that the actor would see there. */
export async function listGrantsOfTeams(
  ctx: Ctx,
  kind: GrantKind,
  { of, q, page }: TeamsGrants,
): Promise<Paged<ShownGrant>> {
  const { access } =
    'teamId' in of ? await requireTeam(ctx, of.teamId, 'team:read') : await requireMembership(ctx, of.membershipId)
  // Without grants on single workspaces and projects: the permissions that the actor has on all of them.
  const can = kind.noun === 'workspace' ? workspacePermissions(access) : projectPermissions(access)
  const visibleTo = can.has('team-access:read') ? undefined : actorUserId(ctx.actor)
  if (visibleTo === null) return { rows: [], total: 0 }
  const { rows, total } = await store.listGrantsOfTeams(ctx.db, kind, { of, visibleTo, q, page })
  const pathOf = (row: (typeof rows)[number]) =>
    kind.noun === 'workspace'
      ? `/organizations/${row.organization_name}/workspaces/${row.subject_name}`
      : `/projects/${row.subject_id}`
  return { rows: rows.map((row) => ({ ...row, subject: { id: row.subject_id, path: pathOf(row) } })), total }
}

export async function updateGrant(ctx: Ctx, kind: GrantKind, { grant, input }: { grant: Grant; input: GrantInput }) {
  const { subject } = grant
  const access = input.access ?? grant.access
  const columns = grantColumns(kind, { ...input, access }, grant)
  checkHolds(kind, subject, { ...columns, access })
  return transact(ctx, async (ctx) => {
    const changes = { ...columns, access }
    const row = await store.updateGrant(ctx.db, kind, { id: grant.id, changes })
    if (!row) throw notFound('team access')
    const change = { subject, teamId: row.team_id, meta: { team: row.team_id, permissions: access } }
    const event = await grantAudit(ctx, kind, { ...change, action: 'update_team_permissions' })
    await recordAudit(ctx, { ...event, settings: { before: grant, columns: changes } })
    return { ...row, subject }
  })
}

export async function deleteGrant(ctx: Ctx, kind: GrantKind, { id, subject, team_id: teamId }: Grant) {
  const event = await grantAudit(ctx, kind, { subject, teamId, action: 'remove_team', meta: { team: teamId } })
  await audited(ctx, event, (ctx) => store.deleteGrant(ctx.db, kind, id))
}

export function grantResource(kind: GrantKind, grant: ShownGrant) {
  const { id, team_id: teamId, subject } = grant
  const { type } = kind.schemas
  return {
    id,
    type,
    attributes: { access: grant.access, ...grantAttributes(kind, grant) },
    relationships: {
      team: { data: { id: teamId, type: 'teams' }, links: { related: `/api/v2/teams/${teamId}` } },
      [kind.noun]: { data: { id: subject.id, type: `${kind.noun}s` }, links: { related: `/api/v2${subject.path}` } },
    },
    links: { self: `/api/v2/${type}/${id}` },
  }
}
