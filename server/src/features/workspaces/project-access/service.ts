import type { CreateTeamProject, UpdateTeamProject } from '@groundstate/contract/teams'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { CUSTOM_PROJECT, PROJECT_LEVELS } from '../../../auth/grants.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { type Project, requireProject } from '../../organizations/projects/service.ts'
import { findReadable } from '../team-access/service.ts'
import { requireTeam } from '../../organizations/teams/service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { isTeamMember } from '../team-access/store.ts'
import { levelColumns, type Part } from '../team-access/levels.ts'
import type { Page, Paged } from '../../../db/page.ts'

export type TeamProject = store.TeamProjectRow & { project: Project }

/**
 * What teams may do to a project and the workspaces in it. Who administers it sees all of it; members see what their own
 * teams may, and nobody else's (public documentation, "Project team access").
 */
export async function listTeamProjects(
  ctx: Ctx,
  { projectId, teamId, page }: { projectId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<TeamProject>> {
  const project = await requireProject(ctx, projectId, 'project:read')
  const seesAll = project.can.has('team-access:read')
  if (!seesAll && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listTeamProjects(ctx.db, { projectId, teamId, ofUser }, page)
  return { rows: rows.map((row) => ({ ...row, project })), total }
}

/** Throws `not-found` for an access that the actor may not see, `forbidden` when it sees it but may not change it. */
export async function requireTeamProject(
  ctx: Ctx,
  id: string,
  permission: 'team-access:read' | 'team-access:manage' = 'team-access:read',
): Promise<TeamProject> {
  const row = await store.findTeamProject(ctx.db, id)
  if (!row) throw notFound('team access')
  const project = await findReadable(() => requireProject(ctx, row.project_id, 'project:read'))
  if (!project.can.has('team-access:read')) {
    const { actor } = ctx
    const isOwn = actor.kind === 'user' && (await isTeamMember(ctx.db, row.team_id, actor.userId))
    if (!isOwn) throw notFound('team access')
  }
  if (permission === 'team-access:manage') await requireProject(ctx, row.project_id, permission)
  return { ...row, project }
}

export async function createTeamProject(ctx: Ctx, input: CreateTeamProject): Promise<TeamProject> {
  const { attributes, relationships } = input
  const project = await requireProject(ctx, relationships.project.data.id, 'team-access:manage')
  const team = await requireTeam(ctx, relationships.team.data.id, 'team:read')
  if (team.organization_id !== project.organization_id) throw notFound('team')
  const columns = accessColumns(attributes.access, attributes, DEFAULTS)
  try {
    return await transact(ctx, async (ctx) => {
      const row = await store.insertTeamProject(ctx.db, {
        ...columns,
        id: ctx.newId('tprj'),
        team_id: team.id,
        project_id: project.id,
        access: attributes.access,
        created_at: ctx.now(),
      })
      await recordAccess(ctx, project, 'add_team', { team: team.name, permissions: row.access })
      return { ...row, project }
    })
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid('Team has already been added to the project', '/data/relationships/team')
    throw error
  }
}

export async function updateTeamProject(ctx: Ctx, id: string, input: UpdateTeamProject): Promise<TeamProject> {
  const current = await requireTeamProject(ctx, id, 'team-access:manage')
  const access = input.access ?? current.access
  const columns = accessColumns(access, input, current)
  return transact(ctx, async (ctx) => {
    const row = await store.updateTeamProject(ctx.db, id, { ...columns, access })
    if (!row) throw notFound('team access')
    await recordAccess(ctx, current.project, 'update_team_permissions', { team: row.team_id, permissions: access })
    return { ...row, project: current.project }
  })
}

export async function deleteTeamProject(ctx: Ctx, id: string) {
  const { project, team_id: team } = await requireTeamProject(ctx, id, 'team-access:manage')
  await transact(ctx, async (ctx) => {
    await store.deleteTeamProject(ctx.db, id)
    await recordAccess(ctx, project, 'remove_team', { team })
  })
}

async function recordAccess(ctx: TransactionCtx, project: Project, action: string, meta: Record<string, string>) {
  await recordAudit(ctx, {
    organizationId: project.organization_id,
    action,
    resource: { type: 'project', id: project.id },
    meta,
  })
}

/** Each part of an access: its column, its place in the interface, and its name in messages. */
const PARTS = [
  ['project_settings', 'project-access', 'settings', 'Project settings'],
  ['project_teams', 'project-access', 'teams', 'Project teams'],
  ['project_variable_sets', 'project-access', 'variable-sets', 'Project variable sets'],
  ['runs', 'workspace-access', 'runs', 'Workspace runs'],
  ['variables', 'workspace-access', 'variables', 'Workspace variables'],
  ['state_versions', 'workspace-access', 'state-versions', 'Workspace state versions'],
  ['sentinel_mocks', 'workspace-access', 'sentinel-mocks', 'Workspace sentinel mocks'],
  ['workspace_create', 'workspace-access', 'create', 'Workspace create'],
  ['workspace_move', 'workspace-access', 'move', 'Workspace move'],
  ['workspace_locking', 'workspace-access', 'locking', 'Workspace locking'],
  ['workspace_delete', 'workspace-access', 'delete', 'Workspace delete'],
  ['run_tasks', 'workspace-access', 'run-tasks', 'Workspace run tasks'],
  ['policy_overrides', 'workspace-access', 'policy-overrides', 'Workspace policy overrides'],
] as const

type Column = (typeof PARTS)[number][0]
type Columns = Pick<store.TeamProjectRow, Column>

/** The database calls a grant's `locking` by a longer name. */
function columnsOf({ locking, ...rest }: typeof CUSTOM_PROJECT): Columns {
  return { ...rest, workspace_locking: locking }
}

const DEFAULTS = columnsOf(CUSTOM_PROJECT)
const FIXED = Object.fromEntries(Object.entries(PROJECT_LEVELS).map(([name, level]) => [name, columnsOf(level)]))

function accessColumns(access: string, input: UpdateTeamProject, row: Columns): Columns {
  const parts = PARTS.map(([column, group, name, label]): Part<Column> => {
    const given: Record<string, unknown> = input[group] ?? {}
    return { column, pointer: `/data/attributes/${group}/${name}`, label, value: given[name] }
  })
  const current = Object.fromEntries(PARTS.map(([column]) => [column, row[column]])) as Columns
  return levelColumns({ fixed: FIXED, access, current }, parts)
}
