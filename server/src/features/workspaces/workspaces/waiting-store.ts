import { EXECUTING_STATUSES, QUEUED_STATUSES, statusesWhere } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import { MAX_JOBS_COUNTED, type OpenTask, type WaitingCause } from './waiting.ts'

/** An agent that has not polled for jobs for this long counts as offline, in ms. */
const AGENT_TIMEOUT_MS = 60_000

/** The time since which an agent must have polled for jobs to count as online. */
export function heardSince(now: Date) {
  return new Date(now.getTime() - AGENT_TIMEOUT_MS).toISOString()
}

const TASK_STATUSES = statusesWhere(({ stage }) => stage !== undefined)
/** Those in which policies are evaluated, or wait for an override. */
const POLICY_STATUSES = statusesWhere(({ policies }) => policies === true)
const FETCHING_STATUSES = statusesWhere(({ awaits }) => awaits === 'configuration')
const PLAN_STATUSES = statusesWhere(({ phase }) => phase === 'plan')

const phase = sql`case when r.status in (${literals(PLAN_STATUSES)}) then 'plan' else 'apply' end`

type TaskStages = { ids: string[]; open: OpenTask[] | null }

/** The task stages of a run in order, with their open tasks; null for a run without stages. */
export const stagesColumn = sql<TaskStages | null>`case
    when r.stages <> '{}' then jsonb_build_object(
      'ids', (select jsonb_agg(id order by position) from task_stages where run_id = r.id),
      'open', case when r.status in (${literals(TASK_STATUSES)}) then (
        select jsonb_agg(jsonb_build_object('name', t.task_name, 'deadline', t.deadline_at, 'pool', (
            select p.name from task_requests q join agent_pools p on p.id = q.agent_pool_id
             where q.task_result_id = t.id and q.status = 'queued')))
          from task_results t where t.run_id = r.id and t.status = 'running') end)
    end`

/** The cause for which a run waits; null for a run that is neither waiting nor executing. */
export function waitingColumn(heard: string | RawBuilder<string>) {
  return sql<WaitingCause | null>`case
    when r.waits then (select jsonb_build_object(
        'lockedBy', case w.locked_by_type
          when 'user' then (select 'user ' || username from users where id = w.locked_by_id)
          when 'team' then (select 'team ' || name from teams where id = w.locked_by_id)
          else w.locked_by_type || ' ' || w.locked_by_id end,
        'lockedByRun', w.locked_by_type = 'run',
        'lockedAt', w.locked_at,
        'lockedReason', w.locked_reason,
        'activeRunId', w.active_run_id,
        'queuePosition', (select count(*) from (select from runs q
                   where q.workspace_id = r.workspace_id and q.waits and q.queue_order < r.queue_order
                   limit ${sql.lit(MAX_JOBS_COUNTED + 1)}) before_it),
        'previousRunId', (select q.id from runs q
                   where q.workspace_id = r.workspace_id and q.waits and q.queue_order < r.queue_order
                   order by q.queue_order desc limit 1)))
    when r.stages <> '{}' and r.status in (${literals(POLICY_STATUSES)}) then (select jsonb_build_object(
        'policies', e.status,
        'policyMessage', e.message,
        'isOverridable', e.is_overridable,
        'policiesQueued', q.id is not null,
        'leaseExpiresAt', q.lease_expires_at,
        'poolName', p.name,
        'poolIsBuiltIn', p.organization_id is null,
        'agentsAccept', exists (select from agents a
                          where a.agent_pool_id = p.id and a.exited_at is null and 'policy' = any(a.accepts)
                            and a.last_ping_at > ${heard}::timestamptz),
        'agentsOnline', exists (select from agents a
                          where a.agent_pool_id = p.id and a.exited_at is null and a.last_ping_at > ${heard}::timestamptz))
      from policy_evaluations e
      left join policy_requests q on q.policy_evaluation_id = e.id
      left join agent_pools p on p.id = q.agent_pool_id
      where e.run_id = r.id and e.status in ('running', 'failed', 'errored') limit 1)
    when r.status in (${literals(FETCHING_STATUSES)}) then (select jsonb_build_object('fetchProblem', cv.fetch_problem)
      from configuration_versions cv where cv.id = r.configuration_version_id)
    when r.status in (${literals(QUEUED_STATUSES)}) then (select jsonb_build_object(
        'poolName', p.name,
        'poolIsBuiltIn', p.organization_id is null,
        'kind', ${phase},
        'agentsAccept', exists (select from agents a
                          where a.agent_pool_id = p.id and a.exited_at is null
                            and ${phase} = any(a.accepts)
                            and (a.last_ping_at > ${heard}::timestamptz or exists (select from agent_jobs j
                              where j.agent_id = a.id and j.status = 'running'))),
        'agentsOnline', exists (select from agents a
                          where a.agent_pool_id = p.id and a.exited_at is null and a.last_ping_at > ${heard}::timestamptz)
                        or exists (select from agent_jobs j join agents a on a.id = j.agent_id
                          where j.agent_pool_id = p.id and j.status = 'running' and a.exited_at is null),
        'poolLimit', case when p.max_concurrent_jobs <= (select count(*) from agent_jobs j
                             where j.agent_pool_id = p.id and j.status = 'running') then p.max_concurrent_jobs end,
        'organizationLimit', case when o.run_concurrency <= (select count(*) from agent_jobs j
                             where j.organization_id = o.id and j.status = 'running') then o.run_concurrency end,
        'jobsBefore', (select count(*) from (select from agent_jobs j
                       where j.status = 'queued' and j.agent_pool_id = p.id
                         and (j.class, j.tag, j.seq) < (mine.class, mine.tag, mine.seq)
                       limit ${sql.lit(MAX_JOBS_COUNTED + 1)}) before_it))
      from agent_pools p join organizations o on o.id = r.organization_id
      left join agent_jobs mine on mine.run_id = r.id and mine.status = 'queued'
      where p.id = r.agent_pool_id)
    when r.status in (${literals(EXECUTING_STATUSES)}) then (select jsonb_build_object(
        'agentName', a.name, 'leaseExpiresAt', case when j.ack_due_at is null then j.lease_expires_at end,
        'leaseMs', j.lease_ms)
      from agent_jobs j left join agents a on a.id = j.agent_id
      where j.run_id = r.id and j.status = 'running' limit 1)
    end`
}

type WaitingRow = { id: string; workspace_id: string; waiting: WaitingCause | null; task_stages: TaskStages | null }

/** Waiting causes of each workspace's active run and the first run in its queue. */
export async function listWaiting(db: Db, { workspaceIds, now }: { workspaceIds: readonly string[]; now: Date }) {
  // The subquery hides the ids from the planner: otherwise it would replan the statement for each execution, depending on their number.
  const ids = sql`(select ${workspaceIds}::text[])::text[]`
  const { rows } = await sql<WaitingRow>`
    select r.id, r.workspace_id, ${waitingColumn(heardSince(now))} as waiting, ${stagesColumn} as task_stages
      from workspaces w
      join lateral (select * from runs
         where id = w.active_run_id
            or id = (select q.id from runs q where q.workspace_id = w.id and q.waits order by q.queue_order limit 1)) r on true
     where w.id = any(${ids})
     order by r.waits`.execute(db)
  return rows
}
