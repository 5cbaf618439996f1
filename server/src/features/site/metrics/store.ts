import { UNFINISHED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import { agentStatus } from '../../agents/agent-pools/store.ts'
import { QUEUE as NOTIFICATIONS } from '../../notifications/notifications/delivery-store.ts'
import { FIRST_DUE as REPORTS_DUE } from '../../repositories/commit-statuses/queue-store.ts'
import { QUEUE as TASK_REQUESTS } from '../../tasks/task-results/deliveries-store.ts'

/** Maximum number of rows that are counted: all counts read at most this much of an index. */
const MAX_COUNTED = 100_000

/** Maximum number of pools with their own labels; the others are one, `other`. */
const MAX_POOLS = 500

export type RunCount = { status: string; runs: number }

/** Counts unfinished runs, which a partial index has; ended runs are counted as they end. */
export async function countRuns(db: Db): Promise<RunCount[]> {
  const { rows } = await sql<RunCount>`
    select status, count(*) as runs
      from (select status from runs where status in (${literals(UNFINISHED_STATUSES)}) limit ${sql.lit(MAX_COUNTED)}) r
     group by status`.execute(db)
  return rows
}

export type PoolCount = {
  name: string
  organization: string
  queued: number
  running: number
  oldest_queued_at: Date | null
  /** Number of agents by status. */
  agents: Record<string, number>
}

/** Counts the queue and the agents of each pool: of those with the longest queues and most agents, then the oldest ones. */
export async function countPools(db: Db, now: Date): Promise<PoolCount[]> {
  const { rows } = await sql<PoolCount>`
    with queued as (
      select agent_pool_id as id, count(*) as jobs, min(queued_at) as oldest
        from (select agent_pool_id, queued_at from agent_jobs where status = 'queued' limit ${sql.lit(MAX_COUNTED)}) j group by 1),
    running as (
      select agent_pool_id as id, count(*) as jobs
        from (select agent_pool_id from agent_jobs where status = 'running' limit ${sql.lit(MAX_COUNTED)}) j group by 1),
    present as (
      select id, jsonb_object_agg(status, agents) as agents, sum(agents) as total
        from (select agent_pool_id as id, status, count(*) as agents
                from (select a.agent_pool_id, ${agentStatus(now)} as status from agents a
                       where a.exited_at is null limit ${sql.lit(MAX_COUNTED)}) a group by 1, 2) a group by 1),
    pools as (
      select p.name, coalesce(o.name, '') as organization, coalesce(q.jobs, 0) as queued, coalesce(r.jobs, 0) as running,
             q.oldest, coalesce(a.agents, '{}') as agents,
             row_number() over (order by coalesce(q.jobs, 0) desc, coalesce(a.total, 0) desc, p.created_at, p.id)
               <= ${sql.lit(MAX_POOLS)} as is_named
        from agent_pools p
        left join organizations o on o.id = p.organization_id
        left join queued q on q.id = p.id left join running r on r.id = p.id left join present a on a.id = p.id)
    select name, organization, queued, running, oldest as oldest_queued_at, agents from pools where is_named
    union all
    (select 'other', '', sum(queued)::bigint, sum(running)::bigint, min(oldest),
            coalesce((select jsonb_object_agg(key, present) from (
              select key, sum(value::bigint) as present from pools, jsonb_each_text(agents) where not is_named group by key) s), '{}')
       from pools where not is_named having count(*) > 0)`.execute(db)
  return rows
}

export type DeliveryQueue = { queue: string; waiting: number | null; due_at: Date | null }

/** Requests to receivers that wait, and when the first one is or was due. Reports to hosts are not counted, only dated. */
export async function readDeliveryQueues(db: Db): Promise<DeliveryQueue[]> {
  const waiting = ({ table }: { table: string }): RawBuilder<unknown> =>
    sql`(select count(*) as waiting, min(delivery_due_at) as due_at
           from (select delivery_due_at from ${sql.table(table)} where delivery_due_at is not null
                  order by delivery_due_at limit ${sql.lit(MAX_COUNTED)}) d)`
  const { rows } = await sql<DeliveryQueue>`
    select 'run task' as queue, t.* from ${waiting(TASK_REQUESTS)} t
    union all select 'notification', n.* from ${waiting(NOTIFICATIONS)} n
    union all select 'commit status', null, ${REPORTS_DUE}`.execute(db)
  return rows
}

export async function readDatabaseSize(db: Db): Promise<number> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(db)
  return rows[0]?.size ?? 0
}
