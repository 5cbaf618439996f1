import {
  type OrganizationOverviewResource,
  organizationOverviewSchema,
} from '@groundstate/contract/organization-overviews'
import { documentOf } from '@groundstate/contract/responses'
import { RUN_STATUS_TABLE, type RunGroup, type RunStatus } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { onlineSince } from '../../agents/agent-pools/store.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { readGrants } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

export const organizationOverviewRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/overview',
    {
      summary: 'Show what needs attention in an organization',
      access: { organization: 'organization:read' },
      responses: { 200: documentOf(organizationOverviewSchema) },
    },
    async (req) => ok(organizationOverviewResource(await readOrganizationOverview(req.ctx, req.params.organization))),
  )
}

async function readOrganizationOverview(ctx: Ctx, name: string) {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const { actor, db } = ctx
  const { id: organizationId, access, can } = organization
  const grants =
    actor.kind === 'user' && !seesEveryWorkspace(access) ? await readGrants(ctx, actor, organization) : undefined
  const now = ctx.now()
  const [workspaces, counts] = await Promise.all([
    store.countWorkspaces(db, actor, { organizationId, grants }),
    store.countOrganization(db, actor, { organizationId, since: onlineSince(now), now }),
  ])
  return {
    name: organization.name,
    limits: PLAN_LIMITS[organization.plan],
    mayReadTasks: can.has('run-tasks:read'),
    mayReadPools: can.has('agent-pools:read'),
    workspaces,
    counts,
  }
}

type OrganizationOverview = Awaited<ReturnType<typeof readOrganizationOverview>>

function organizationOverviewResource(overview: OrganizationOverview): OrganizationOverviewResource {
  const { name, limits, mayReadTasks, mayReadPools, workspaces, counts } = overview
  const sum = (name: 'total' | 'locked' | 'drifted' | 'own' | 'own_with_runs') =>
    workspaces.reduce((total, row) => total + row[name], 0)
  const groupOf = (status: RunStatus | null) => status && RUN_STATUS_TABLE[status].group
  const inGroup = (group: RunGroup | null) =>
    workspaces.reduce((total, row) => total + (groupOf(row.run_status) === group ? row.total : 0), 0)
  return {
    id: name,
    type: 'organization-overviews',
    attributes: {
      workspaces: {
        total: sum('total'),
        'needs-approval': inGroup('needs_approval'),
        errored: inGroup('errored'),
        running: inGroup('running'),
        waiting: inGroup('waiting'),
        finished: inGroup('finished'),
        stopped: inGroup('stopped'),
        'without-runs': inGroup(null),
        locked: sum('locked'),
        drifted: sum('drifted'),
      },
      agents: mayReadPools
        ? {
            online: counts.agents_online,
            idle: counts.agents_online - counts.agents_busy,
            busy: counts.agents_busy,
            'is-built-in-online': counts.built_in_online,
          }
        : null,
      jobs: { waiting: counts.jobs_waiting, running: counts.jobs_running },
      usage: {
        'run-tasks': mayReadTasks ? { used: counts.tasks, limit: limits.runTasks } : null,
        'run-task-workspaces': mayReadTasks ? { used: counts.task_workspaces, limit: limits.runTaskWorkspaces } : null,
        agents: mayReadPools ? { used: counts.agents_online, limit: limits.agents } : null,
        'concurrent-runs': { used: counts.jobs_running, limit: counts.run_concurrency },
      },
      'has-token': counts.has_token,
      'has-workspace': sum('own') > 0,
      'has-run': sum('own_with_runs') > 0,
      'has-run-task': mayReadTasks && counts.has_own_task,
      'has-sample': counts.has_sample,
    },
    links: { self: `/api/v2/organizations/${name}/overview` },
  }
}
