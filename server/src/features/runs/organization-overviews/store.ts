import { EXECUTING_STATUSES, FINAL_STATUSES, QUEUED_STATUSES } from '@groundstate/contract/run-status'
import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import { isPresent } from '../../agents/agents/store.ts'
import type { Grants } from '../../workspaces/workspaces/list-store.ts'
import { currentRunStatus } from '../../workspaces/workspaces/store.ts'

/** Without `grants` the actor sees every workspace of the organization, or only its own if it is a run. */
type Visible = { organizationId: string; grants: Grants | undefined }

/** Counts workspaces by the status of their current run; `own` are those that do not belong to the sample. */
export async function countWorkspaces(db: Db, actor: Actor, { organizationId, grants }: Visible) {
  const isInSample = sql<boolean>`w.id in (s.network_workspace_id, s.app_workspace_id)`
  const { projectIds = [], teamIds = [] } = grants ?? {}
  const isGranted = sql<boolean>`(w.project_id = any(${projectIds}::text[])
    or w.id in (select g.workspace_id from team_workspaces g where g.team_id = any(${teamIds}::text[])))`
  return db
    .selectFrom('workspaces as w')
    .leftJoin('samples as s', (join) => join.onRef('s.organization_id', '=', 'w.organization_id').on(isInSample))
    .where('w.organization_id', '=', organizationId)
    .$if(actor.kind === 'run', (query) => query.where('w.id', '=', actor.kind === 'run' ? actor.workspaceId : ''))
    .$if(grants !== undefined, (query) => query.where(isGranted))
    .select([
      currentRunStatus.as('run_status'),
      sql<number>`count(*)`.as('total'),
      sql<number>`count(w.locked_by_type)`.as('locked'),
      sql<number>`count(*) filter (where w.has_drift)`.as('drifted'),
      sql<number>`count(*) filter (where s.id is null)`.as('own'),
      sql<number>`count(w.latest_run_id) filter (where s.id is null)`.as('own_with_runs'),
    ])
    .groupBy('run_status')
    .execute()
}

type Count = 'jobs_waiting' | 'jobs_running' | 'agents_online' | 'agents_busy' | 'tasks' | 'task_workspaces'
/** `has_own_task` does not count the sample's run task. */
type Flag = 'built_in_online' | 'has_own_task' | 'has_token' | 'has_sample'
type OrganizationCounts = Record<Count, number> & Record<Flag, boolean> & { run_concurrency: number | null }

type Counted = { organizationId: string; since: Date; now: Date }

/** `since` is the time of the last heartbeat from which an agent is online. */
export async function countOrganization(db: Db, actor: Actor, { organizationId, since, now }: Counted) {
  const userId = actor.kind === 'user' ? actor.userId : null
  const { rows } = await sql<OrganizationCounts>`
    select jobs.*, agents.*, o.run_concurrency,
           (select count(*) from tasks t where t.organization_id = o.id) as tasks,
           exists (select from tasks t where t.organization_id = o.id
             and not exists (select from samples s where s.task_id = t.id)) as has_own_task,
           exists (select from samples s where s.organization_id = o.id) as has_sample,
           case when exists (select from tasks t where t.organization_id = o.id and t.enabled and t.global_enabled)
             then (select count(*) from workspaces w where w.organization_id = o.id)
             else (select count(distinct a.workspace_id)
                     from workspace_tasks a join tasks t on t.id = a.task_id where t.organization_id = o.id)
           end as task_workspaces,
           exists (select from tokens t where t.user_id = ${userId} and t.kind = 'user' and t.last_used_at is not null) as has_token
      from organizations o,
           lateral (select count(*) filter (where r.status in (${literals(QUEUED_STATUSES)})) as jobs_waiting,
                           count(*) filter (where r.status in (${literals(EXECUTING_STATUSES)})) as jobs_running
                      from runs r
                     where r.organization_id = o.id and r.status not in (${literals(FINAL_STATUSES)})) jobs,
           -- Built-in agents are shared: the number of busy ones would reveal activity of other organizations.
           lateral (select count(*) filter (where a.is_own) as agents_online,
                           count(*) filter (where a.is_own and a.is_busy) as agents_busy,
                           coalesce(bool_or(not a.is_own), false) as built_in_online
                      from (select p.organization_id is not null as is_own,
                                   exists (select from agent_jobs j where j.agent_id = a.id and j.status = 'running') as is_busy
                              from agent_pools p join agents a on a.agent_pool_id = p.id and a.exited_at is null
                             where (p.organization_id = o.id or p.organization_id is null)
                               and ${isPresent({ since, now })}) a) agents
     where o.id = ${organizationId}`.execute(db)
  if (!rows[0]) throw new Error(`the organization ${organizationId} is deleted`)
  return rows[0]
}
