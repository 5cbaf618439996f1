import { runDecidersIncludes } from '@groundstate/contract/includes'
import { documentOf } from '@groundstate/contract/responses'
import { type RunDecidersResource, runDecidersSchema } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import { NO_ACCESS } from '../../../auth/access-context.ts'
import { organizationAccess } from '../../../auth/grants.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { listReadableTeams } from '../../organizations/teams/access.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

export const runDeciderRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/deciders',
    {
      summary: 'Show which teams can unblock a run',
      access: { workspace: 'runs:read' },
      include: runDecidersIncludes,
      responses: { 200: documentOf(runDecidersSchema) },
    },
    async (req) => ok(runDecidersResource(await listRunDeciders(req.ctx, req.params.runId))),
  )
}

/** The ids of the teams that the actor sees whose members may decide about the run, by what they may do. */
async function listRunDeciders(ctx: Ctx, runId: string) {
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

/** Access of a user in only this team to the workspace. */
function permissionsOf({ is_owners: isOwners, access, project, workspace }: store.TeamGrants) {
  return workspacePermissions({
    ...NO_ACCESS,
    role: isOwners ? 'owner' : 'member',
    organizationAccess: organizationAccess(access),
    projectGrants: project ? [project] : [],
    workspaceGrants: workspace ? [workspace] : [],
  })
}

type Deciders = { runId: string } & Record<'mayApply' | 'mayOverride' | 'mayForceUnlock', readonly string[]>

function runDecidersResource({ runId, mayApply, mayOverride, mayForceUnlock }: Deciders): RunDecidersResource {
  const teams = (ids: readonly string[]) => ({ data: ids.map((id) => ({ id, type: 'teams' as const })) })
  return {
    id: runId,
    type: 'run-deciders',
    relationships: {
      'may-apply': teams(mayApply),
      'may-override': teams(mayOverride),
      'may-force-unlock': teams(mayForceUnlock),
    },
  }
}
