import type { OrganizationOverviewResource } from '@groundstate/contract/organization-overviews'
import { RUN_STATUS_TABLE, type RunGroup, type RunStatus } from '@groundstate/contract/run-status'
import type { PlanLimits } from '../../organizations/organizations/plan-limits.ts'
import type { OrganizationCounts, WorkspaceCounts } from './store.ts'

export type OrganizationOverview = {
  name: string
  limits: PlanLimits
  mayReadTasks: boolean
  mayReadPools: boolean
  workspaces: readonly WorkspaceCounts[]
  counts: OrganizationCounts
}

export function organizationOverviewResource(overview: OrganizationOverview): OrganizationOverviewResource {
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
