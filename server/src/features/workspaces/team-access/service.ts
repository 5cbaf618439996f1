import type { CreateTeamWorkspace, UpdateTeamWorkspace } from '@groundstate/contract/teams'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { CUSTOM_WORKSPACE, WORKSPACE_LEVELS } from '../../../auth/grants.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import { requireTeam } from '../../organizations/teams/service.ts'
import { requireWorkspace, type Workspace } from '../workspaces/service.ts'
import { levelColumns, type Part } from './levels.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { Page, Paged } from '../../../db/page.ts'

export type TeamWorkspace = store.TeamWorkspaceRow & { workspace: Workspace }

/**
 * What teams may do to a workspace. Who administers it sees all of it; members see what their own teams may, and nobody
 * else's (public documentation, "Team access").
 */
export async function listTeamWorkspaces(
  ctx: Ctx,
  { workspaceId, teamId, page }: { workspaceId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<TeamWorkspace>> {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  const seesAll = workspace.can.has('team-access:read')
  if (!seesAll && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listTeamWorkspaces(ctx.db, { workspaceId, teamId, ofUser }, page)
  return { rows: rows.map((row) => ({ ...row, workspace })), total }
}

/** Throws `not-found` for an access that the actor may not see, `forbidden` when it sees it but may not change it. */
export async function requireTeamWorkspace(
  ctx: Ctx,
  id: string,
  permission: 'team-access:read' | 'team-access:manage' = 'team-access:read',
): Promise<TeamWorkspace> {
  const row = await store.findTeamWorkspace(ctx.db, id)
  if (!row) throw notFound('team access')
  const workspace = await findReadable(() => requireWorkspace(ctx, row.workspace_id, 'workspace:read'))
  if (!workspace.can.has('team-access:read')) {
    const { actor } = ctx
    const isOwn = actor.kind === 'user' && (await store.isTeamMember(ctx.db, row.team_id, actor.userId))
    if (!isOwn) throw notFound('team access')
  }
  if (permission === 'team-access:manage') await requireWorkspace(ctx, row.workspace_id, permission)
  return { ...row, workspace }
}

/** What hangs on something that the actor may not see is not found itself, in its own words. */
export async function findReadable<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not-found') throw notFound('team access')
    throw error
  }
}

export async function createTeamWorkspace(ctx: Ctx, input: CreateTeamWorkspace): Promise<TeamWorkspace> {
  const { attributes, relationships } = input
  const workspace = await requireWorkspace(ctx, relationships.workspace.data.id, 'team-access:manage')
  const team = await requireTeam(ctx, relationships.team.data.id, 'team:read')
  if (team.organization_id !== workspace.organization_id) throw notFound('team')
  const columns = accessColumns(attributes.access, attributes, DEFAULTS)
  try {
    return await transact(ctx, async (ctx) => {
      const row = await store.insertTeamWorkspace(ctx.db, {
        ...columns,
        id: ctx.newId('tws'),
        team_id: team.id,
        workspace_id: workspace.id,
        access: attributes.access,
        created_at: ctx.now(),
      })
      await recordAccess(ctx, workspace, 'add_team', { team: team.name, permissions: row.access })
      return { ...row, workspace }
    })
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid('Team has already been added to the workspace', '/data/relationships/team')
    throw error
  }
}

export async function updateTeamWorkspace(ctx: Ctx, id: string, input: UpdateTeamWorkspace): Promise<TeamWorkspace> {
  const current = await requireTeamWorkspace(ctx, id, 'team-access:manage')
  const access = input.access ?? current.access
  const columns = accessColumns(access, input, current)
  return transact(ctx, async (ctx) => {
    const row = await store.updateTeamWorkspace(ctx.db, id, { ...columns, access })
    if (!row) throw notFound('team access')
    await recordAccess(ctx, current.workspace, 'update_team_permissions', { team: row.team_id, permissions: access })
    return { ...row, workspace: current.workspace }
  })
}

export async function deleteTeamWorkspace(ctx: Ctx, id: string) {
  const { workspace, team_id: team } = await requireTeamWorkspace(ctx, id, 'team-access:manage')
  await transact(ctx, async (ctx) => {
    await store.deleteTeamWorkspace(ctx.db, id)
    await recordAccess(ctx, workspace, 'remove_team', { team })
  })
}

async function recordAccess(ctx: TransactionCtx, workspace: Workspace, action: string, meta: Record<string, string>) {
  await recordAudit(ctx, {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'workspace', id: workspace.id },
    meta,
  })
}

type Columns = Pick<
  store.TeamWorkspaceRow,
  'runs' | 'variables' | 'state_versions' | 'sentinel_mocks' | 'run_tasks' | 'policy_overrides' | 'workspace_locking'
>

/** The database calls a grant's `locking` by a longer name. */
function columnsOf({ locking, ...rest }: typeof CUSTOM_WORKSPACE): Columns {
  return { ...rest, workspace_locking: locking }
}

const DEFAULTS = columnsOf(CUSTOM_WORKSPACE)
const FIXED = Object.fromEntries(Object.entries(WORKSPACE_LEVELS).map(([name, level]) => [name, columnsOf(level)]))

function accessColumns(access: string, input: UpdateTeamWorkspace, current: Columns): Columns {
  const part = (name: keyof UpdateTeamWorkspace, column: keyof Columns, label: string): Part<keyof Columns> => ({
    column,
    pointer: `/data/attributes/${name}`,
    label,
    value: input[name],
  })
  const { runs, variables, state_versions, sentinel_mocks, run_tasks, policy_overrides, workspace_locking } = current
  return levelColumns(
    {
      fixed: FIXED,
      access,
      current: { runs, variables, state_versions, sentinel_mocks, run_tasks, policy_overrides, workspace_locking },
    },
    [
      part('runs', 'runs', 'Runs'),
      part('variables', 'variables', 'Variables'),
      part('state-versions', 'state_versions', 'State versions'),
      part('sentinel-mocks', 'sentinel_mocks', 'Sentinel mocks'),
      part('run-tasks', 'run_tasks', 'Run tasks'),
      part('policy-overrides', 'policy_overrides', 'Policy overrides'),
      part('workspace-locking', 'workspace_locking', 'Workspace locking'),
    ],
  )
}
