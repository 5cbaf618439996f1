import type { Stage } from '@groundstate/contract/run-tasks'
import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type TaskDeliveryRow = Selectable<Schema['task_deliveries']>
/**
 * One attempt at a request, leased to this process. Another process that takes the lease over has a higher `attempt`.
 */
export type Claim = { id: string; attempt: number }

/** The content of a request and its destination; `task_id` is null when the task is deleted. */
export type ClaimedRequest = Claim & {
  stage: Stage
  access_token: Buffer
  enforcement_level: 'advisory' | 'mandatory'
  deadline_at: Date
  task_name: string
  organization_id: string
  organization_name: string
  workspace_id: string
  workspace_name: string
  run_id: string
  run_created_at: Date
  run_message: string
  plan_only: boolean
  working_directory: string
  username: string | null
  plan_id: string
  configuration_version_id: string
  configuration_status: string
  task_id: string | null
  url: string | null
  hmac_key: Buffer | null
  ca_certificates: string | null
  agent_pool_id: string | null
  agent_pool_name: string | null
}

/**
 * How many connections a process may have in all, and for one organization or task. The last of all, the `reserved` ones,
 * are for organizations that have none: their first requests have turn 1.
 */
export type Connections = { all: number; reserved: number; perOrganization: number; perTask: number }
/** How many connections this process has to the receiver of a task. */
export type Busy = { taskId: string; organizationId: string; count: number }

/** Where very many tasks wait, so many times as many requests are looked at as there are connections. */
const SPARE = 4

type Claims = { now: Date; leaseUntil: Date; connections: Connections; busy: readonly Busy[] }

/**
 * Leases requests that are due, so that each is sent by one process. Tasks of an organization take turns, and so do
 * organizations. What has its share of connections waits; requests that an agent sends need none. When a process dies,
 * its requests become due again. One statement loads everything that sending them needs. Of each task it reads the first requests only,
 * however many are due: as a range of task and time, which only the index of both serves. Rows are found by arrays of ids, since PostgreSQL
 * would join them with all results that there are.
 */
export async function claimDeliveries(db: Db, { now, leaseUntil, connections, busy }: Claims) {
  const { all, reserved, perOrganization, perTask } = connections
  const free = busy.reduce((left, { count }) => left - count, all)
  const column = <K extends keyof Busy>(name: K) => busy.map((receiver) => receiver[name])
  const isDue = sql`r.delivery_due_at <= ${now} and r.deadline_at > ${now}
    and (r.lease_expires_at is null or r.lease_expires_at <= ${now})`
  const connects = sql`(t.id is not null and t.agent_pool_id is null)`
  const { rows } = await sql<ClaimedRequest>`with recursive busy as (
      select * from unnest(${column('taskId')}::text[], ${column('organizationId')}::text[], ${column('count')}::integer[])
                      as busy (task_id, organization_id, count)),
    busy_organizations as (select organization_id, sum(count) as count from busy group by organization_id),
    asked as (
      (select task_id from task_results where delivery_due_at is not null order by task_id limit 1)
      union all
      select (select r.task_id from task_results r
               where r.delivery_due_at is not null and r.task_id > asked.task_id order by r.task_id limit 1)
        from asked where asked.task_id is not null),
    waiting as (
      select r.id, r.delivery_due_at, t.organization_id, ${connects} as connects,
             row_number() over (partition by asked.task_id order by r.delivery_due_at) + coalesce(busy.count, 0) as task_turn
        from asked
        left join tasks t on t.id = asked.task_id
        left join busy on busy.task_id = t.id and t.agent_pool_id is null
       cross join lateral (
         select r.id, r.delivery_due_at from task_results r
          where (r.task_id, r.delivery_due_at) >= (asked.task_id, '-infinity'::timestamptz)
            and (r.task_id, r.delivery_due_at) <= (asked.task_id, ${now}::timestamptz) and ${isDue}
          order by r.task_id, r.delivery_due_at
          limit least(case when ${connects} then ${perTask}::integer else ${perOrganization}::integer end,
                      1 + ${SPARE * all}::integer / (select count(*) from asked))) r),
    turns as (
      select waiting.*, row_number() over (partition by organization_id, connects order by task_turn, delivery_due_at)
                          + case when connects then coalesce(busy.count, 0) else 0 end as turn
        from waiting left join busy_organizations as busy using (organization_id)
       where task_turn <= ${perTask} or not connects),
    places as (
      select turns.*, row_number() over (partition by connects order by turn, delivery_due_at) as place
        from turns where turn <= ${perOrganization}),
    chosen as (
      select id from places
       where not connects or place <= ${free}::integer - case turn when 1 then 0 else ${reserved}::integer end),
    due as (
      select r.id from task_results r where r.id = any(array(select id from chosen)) and ${isDue}
         for update of r skip locked),
    claimed as (
      update task_results r set lease_expires_at = ${leaseUntil}, attempts = r.attempts + 1
       where r.id = any(array(select id from due))
      returning r.id, r.attempts, r.run_id, r.task_id, r.task_name, r.stage, r.access_token, r.enforcement_level,
                r.deadline_at)
    select r.id, r.attempts as attempt, r.stage, r.access_token, r.enforcement_level, r.deadline_at, r.task_name,
           o.id as organization_id, o.name as organization_name, w.id as workspace_id, w.name as workspace_name, runs.id as run_id,
           runs.created_at as run_created_at, runs.message as run_message, runs.plan_only, runs.working_directory,
           u.username, plan.id as plan_id, cv.id as configuration_version_id, cv.status as configuration_status,
           t.id as task_id, t.url, t.hmac_key, t.ca_certificates, t.agent_pool_id, pool.name as agent_pool_name
      from claimed r
      join runs on runs.id = r.run_id
      join workspaces w on w.id = runs.workspace_id
      join organizations o on o.id = w.organization_id
      join configuration_versions cv on cv.id = runs.configuration_version_id
      join phases plan on plan.run_id = runs.id and plan.kind = 'plan'
      left join users u on u.id = runs.created_by_user_id
      left join tasks t on t.id = r.task_id
      left join agent_pools pool on pool.id = t.agent_pool_id`.execute(db)
  return rows
}

export async function renewLeases(db: Db, ids: readonly string[], leaseUntil: Date) {
  await sql`update task_results set lease_expires_at = ${leaseUntil}
     where id = any(${ids}) and lease_expires_at is not null`.execute(db)
}

export type NewDelivery = Omit<
  TaskDeliveryRow,
  'request_headers' | 'response_headers' | 'task_result_id' | 'attempt'
> & {
  request_headers: Record<string, string>
  response_headers: Record<string, string | string[]> | null
}

/**
 * Records an attempt and releases its lease. The request is due again at `next_attempt_at`, unless it has been
 * delivered, a callback has come, or another process has taken the request over meanwhile.
 */
export async function recordDelivery(
  db: Db,
  claim: Claim,
  { row, deliveredAt }: { row: NewDelivery; deliveredAt: Date | null },
) {
  await sql`with freed as (
      update task_results
         set lease_expires_at = null, delivered_at = coalesce(${deliveredAt}, delivered_at),
             delivery_due_at = case when status = 'running' and called_back_at is null and delivered_at is null
                                    then ${row.next_attempt_at}::timestamptz end
       where id = ${claim.id} and attempts = ${claim.attempt}
      returning id, delivery_due_at),
    done as (delete from task_requests where task_result_id in (select id from freed))
    insert into task_deliveries (id, task_result_id, attempt, sent_at, duration_ms, url, request_headers, request_body,
        response_status, response_headers, response_body, response_truncated, error, agent_name, is_private, next_attempt_at)
    values (${row.id}, ${claim.id}, ${claim.attempt}, ${row.sent_at}, ${row.duration_ms}, ${row.url},
        ${JSON.stringify(row.request_headers)}::jsonb, ${row.request_body}, ${row.response_status},
        ${row.response_headers && JSON.stringify(row.response_headers)}::jsonb, ${row.response_body},
        ${row.response_truncated}, ${row.error}, ${row.agent_name}, ${row.is_private}, (select delivery_due_at from freed))`.execute(
    db,
  )
}

/**
 * Withdraws a claim whose request was not sent; it does not count as an attempt. Undefined when another process has
 * taken the request over. `is_asked` says whether the receiver knows the request from an earlier attempt.
 */
export async function withdrawDelivery(tx: Tx, { id, attempt }: Claim) {
  const { rows } = await sql<{
    is_asked: boolean
  }>`with done as (delete from task_requests where task_result_id = ${id})
    update task_results
       set lease_expires_at = null, delivery_due_at = null, attempts = attempts - 1
     where id = ${id} and attempts = ${attempt}
    returning delivered_at is not null or called_back_at is not null as is_asked`.execute(tx)
  return rows[0]
}

/** Lets another process take over a request that an agent has or is to take; it goes on meanwhile as the same attempt. */
export async function handOver(db: Db, { id, attempt }: Claim) {
  await sql`update task_results set lease_expires_at = null, attempts = attempts - 1
     where id = ${id} and attempts = ${attempt}`.execute(db)
}

/** Makes a request due now; undefined when the result is not open, an attempt is under way, or the task is deleted. */
export async function requeueDelivery(db: Db, id: string, now: Date) {
  const { rows } = await sql<{ id: string }>`update task_results set delivery_due_at = ${now}
     where id = ${id} and status = 'running' and exists (select from tasks t where t.id = task_id)
       and (lease_expires_at is null or lease_expires_at <= ${now})
    returning id`.execute(db)
  return rows[0]
}

export async function listDeliveries(db: Db, resultId: string, window: { limit: number; offset: number }) {
  const rows = await db
    .selectFrom('task_deliveries')
    .selectAll()
    .where('task_result_id', '=', resultId)
    .orderBy('attempt', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute()
  const { count } = await db
    .selectFrom('task_deliveries')
    .where('task_result_id', '=', resultId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { rows, total: count }
}

/** The last attempts of each of several results. */
export async function listDeliveriesOf(db: Db, resultIds: readonly string[], most: number) {
  const { rows } = await sql<TaskDeliveryRow>`select d.*
      from unnest(${resultIds}::text[]) result (id)
      cross join lateral (
        select * from task_deliveries where task_result_id = result.id order by attempt desc limit ${most}) d
     order by d.attempt desc`.execute(db)
  return rows
}

export type LastDelivery = Awaited<ReturnType<typeof listLastDeliveries>>[number]

/** The last attempt of each result. */
export async function listLastDeliveries(db: Db, resultIds: readonly string[]) {
  return db
    .selectFrom('task_deliveries')
    .distinctOn('task_result_id')
    .select(['task_result_id', 'attempt', 'response_status', 'error'])
    .where(sql<boolean>`task_result_id = any(${resultIds})`)
    .orderBy('task_result_id')
    .orderBy('attempt', 'desc')
    .execute()
}
