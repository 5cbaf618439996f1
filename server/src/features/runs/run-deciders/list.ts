import type { Ctx } from '../../../app.ts'
import { NO_ACCESS } from '../../../auth/access-context.ts'
import { organizationAccess } from '../../../auth/grants.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { listReadableTeams } from '../../organizations/teams/access.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

/** The ids of the teams that the actor sees whose members may decide about the run, by what they may do. */
export async function listRunDeciders(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  const grants = await store.listTeamGrants(ctx.db, run.workspace_id)
  const readable = await listReadableTeams(
    ctx,
    grants.map(({ id }) => id),
  )
  const shown = new Set(readable.map(({ id }) => id))
  const teams = grants.filter(({ id }) => shown.has(id)).map((team) => ({ id: team.id, can: permissionsOf(team) }))
  const having = (permission: WorkspacePermission) => teams.filter(({ can }) => can.has(permission)).map(({ id }) => id)
  return {
    runId: run.id,
    mayApply: having('runs:apply'),
    mayOverride: having('policy-overrides'),
    mayForceUnlock: having('force-unlock'),
  }
}

/** What somebody in this team alone may do in the workspace. */
function permissionsOf({ is_owners: isOwners, access, project, workspace }: store.TeamGrants) {
  return workspacePermissions({
    ...NO_ACCESS,
    role: isOwners ? 'owner' : 'member',
    organizationAccess: organizationAccess(access),
    projectGrants: project ? [project] : [],
    workspaceGrants: workspace ? [workspace] : [],
  })
}
