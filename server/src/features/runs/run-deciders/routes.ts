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

/** The teams visible to the actor whose members can unblock the run, by permission. */
async function listRunDeciders(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  const grants = await store.listTeamGrants(ctx.db, run.workspace_id)
  const ids = grants.map(({ id }) => id)
  const visible = new Set((await listReadableTeams(ctx, ids)).map(({ id }) => id))
  const teams = grants.filter(({ id }) => visible.has(id)).map((team) => ({ id: team.id, can: permissionsOf(team) }))
  return { runId: run.id, teams }
}

/** Permissions of a user whose only team is this one. */
function permissionsOf({ is_owners: isOwners, access, project, workspace }: store.TeamGrants) {
  return workspacePermissions({
    ...NO_ACCESS,
    role: isOwners ? 'owner' : 'member',
    organizationAccess: organizationAccess(access),
    projectGrants: project ? [project] : [],
    workspaceGrants: workspace ? [workspace] : [],
  })
}

function runDecidersResource({ runId, teams }: Awaited<ReturnType<typeof listRunDeciders>>): RunDecidersResource {
  const having = (permission: WorkspacePermission) => ({
    data: teams.filter(({ can }) => can.has(permission)).map(({ id }) => ({ id, type: 'teams' as const })),
  })
  return {
    id: runId,
    type: 'run-deciders',
    relationships: {
      'may-apply': having('runs:apply'),
      'may-override': having('policy-overrides'),
      'may-force-unlock': having('force-unlock'),
    },
  }
}
