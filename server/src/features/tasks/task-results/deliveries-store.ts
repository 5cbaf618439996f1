import type { DeliveryStatus } from '@groundstate/contract/task-results'
import { type Selectable, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type AttemptColumns, attemptInsert } from '../../../deliveries/attempts.ts'
import { type Claim, type ClaimOptions, type QueueTable, dueRows } from '../../../deliveries/queue.ts'
import type { TaskSubject } from '../run-tasks/request.ts'
import type { TaskRow } from '../run-tasks/store.ts'

export type TaskDeliveryRow = Selectable<Schema['task_deliveries']>
/** The content and destination of a request; `task_id` and `url` are null if the task was deleted. */
export type ClaimedRequest = Claim &
  TaskSubject &
  Pick<TaskRow, 'hmac_key' | 'ca_certificates' | 'agent_pool_id'> & {
    access_token: Buffer
    deadline_at: Date
    task_name: string
    organization_id: string
    task_id: string | null
    url: string | null
    agent_pool_name: string | null
    traceparent: string | null
  }

/** The requests of results; requests of an agent pool need no connection of the server. */
export const QUEUE: QueueTable = {
  table: 'task_results',
  receiver: 'task_id',
  join: sql`left join tasks t on t.id = queued.id`,
  organization: sql<string | null>`t.organization_id`,
  connects: sql<boolean>`(t.id is not null and t.agent_pool_id is null)`,
}

/** Leases due requests, so that each is sent by one process, and loads everything required to send them. When a process dies, its leases expire. */
export async function claimDeliveries(db: Db, { leaseUntil, ...options }: ClaimOptions) {
  const { rows } = await sql<ClaimedRequest>`with recursive ${dueRows(QUEUE, options)},
    claimed as (
      update task_results r set lease_expires_at = ${leaseUntil}, attempts = r.attempts + 1
       where r.id = any(array(select id from due))
      returning r.id, r.attempts, r.run_id, r.task_id, r.task_name, r.stage, r.access_token, r.enforcement_level,
                r.deadline_at)
    select r.id, r.attempts as attempt, r.stage, r.access_token, r.enforcement_level, r.deadline_at, r.task_name,
           o.id as organization_id, o.name as organization_name, w.id as workspace_id, w.name as workspace_name, runs.id as run_id,
           runs.created_at as run_created_at, runs.traceparent, runs.message as run_message, runs.plan_only, runs.working_directory,
           u.username, plan.id as plan_id, cv.id as configuration_version_id, cv.status as configuration_status,
           case when repo.id is not null then coalesce(w.vcs_branch, repo.default_branch) end as vcs_branch,
           repo.page_url as vcs_repo_url, ia.commit_url as vcs_commit_url, ia.pull_request_url as vcs_pull_request_url,
           t.id as task_id, t.url, t.hmac_key, t.ca_certificates, t.agent_pool_id, pool.name as agent_pool_name
      from claimed r
      join runs on runs.id = r.run_id
      join workspaces w on w.id = runs.workspace_id
      join organizations o on o.id = w.organization_id
      join configuration_versions cv on cv.id = runs.configuration_version_id
      join phases plan on plan.run_id = runs.id and plan.kind = 'plan'
      left join repositories repo on repo.id = w.repository_id
      left join ingress_attributes ia on ia.id = cv.ingress_attributes_id
      left join users u on u.id = runs.created_by_user_id
      left join tasks t on t.id = r.task_id
      left join agent_pools pool on pool.id = t.agent_pool_id`.execute(db)
  return rows
}

type NewDelivery = Omit<TaskDeliveryRow, keyof AttemptColumns | 'task_result_id' | 'attempt'> & AttemptColumns

type Recorded = { row: NewDelivery; deliveredAt: Date | null }

/** Records an attempt and releases its lease. The request is due again unless it was delivered, called back, or taken over by another process. */
export async function recordDelivery(db: Db, claim: Claim, { row, deliveredAt }: Recorded) {
  const { names, values } = attemptInsert(row)
  await sql`with freed as (
      update task_results
         set lease_expires_at = null, delivered_at = coalesce(${deliveredAt}, delivered_at),
             delivery_due_at = case when status = 'running' and called_back_at is null and delivered_at is null
                                    then ${row.next_attempt_at}::timestamptz end
       where id = ${claim.id} and attempts = ${claim.attempt}
      returning id, delivery_due_at),
    done as (delete from task_requests where task_result_id in (select id from freed))
    insert into task_deliveries (id, task_result_id, task_id, attempt, ${names}, error, agent_name, next_attempt_at)
    values (${row.id}, ${claim.id}, ${row.task_id}, ${claim.attempt}, ${values}, ${row.error}, ${row.agent_name},
        (select delivery_due_at from freed))`.execute(db)
}

/** Withdraws an unsent request without counting an attempt; undefined if taken over. `is_received`: an earlier attempt has reached the receiver. */
export async function withdrawDelivery(tx: Tx, { id, attempt }: Claim) {
  const { rows } = await sql<{
    is_received: boolean
  }>`with done as (delete from task_requests where task_result_id = ${id})
    update task_results
       set lease_expires_at = null, delivery_due_at = null, attempts = attempts - 1
     where id = ${id} and attempts = ${attempt}
    returning delivered_at is not null or called_back_at is not null as is_received`.execute(tx)
  return rows[0]
}

/** Releases the lease of a request that an agent sends, so that another process continues the same attempt. */
export async function chownToRun(db: Db, { id, attempt }: Claim) {
  await sql`update task_results set lease_expires_at = null, attempts = attempts - 1
     where id = ${id} and attempts = ${attempt}`.execute(db)
}

/** Makes a request due now; undefined if the result is not open, an attempt is in progress, or the task was deleted. */
export async function requeueDelivery(db: Db, id: string, now: Date) {
  const { rows } = await sql<{ id: string }>`update task_results set delivery_due_at = ${now}
     where id = ${id} and status = 'running' and exists (select from tasks t where t.id = task_id)
       and (lease_expires_at is null or lease_expires_at <= ${now})
    returning id`.execute(db)
  return rows[0]
}

export async function listDeliveries(db: Db, resultId: string, page: Page) {
  const all = db.selectFrom('task_deliveries').where('task_result_id', '=', resultId)
  return readPaged(page, all.selectAll().orderBy('attempt', 'desc'), all)
}

/** The latest attempts of each result, latest first. */
export async function listDeliveriesOf(db: Db, resultIds: readonly string[], limit: number) {
  const { rows } = await sql<TaskDeliveryRow>`select d.*
      from unnest(${resultIds}::text[]) result (id)
      cross join lateral (
        select * from task_deliveries where task_result_id = result.id order by attempt desc limit ${limit}) d
     order by d.attempt desc`.execute(db)
  return rows
}

/** The conditions are those of partial indexes. */
const STATUS_CONDITION = {
  succeeded: sql<boolean>`response_status = 200`,
  failed: sql<boolean>`response_status is distinct from 200`,
} as const satisfies Record<DeliveryStatus, unknown>

type TaskDeliveries = { taskId: string; status: DeliveryStatus | undefined; page: Page }

/** A page of a task's deliveries and one more, latest first, each with its run's workspace and the actor's access to it. */
export async function listTaskDeliveries(db: Db, actor: Actor, { taskId, status, page }: TaskDeliveries) {
  const rows = await db
    .with('page', (db) =>
      db
        .selectFrom('task_deliveries')
        .selectAll()
        .where('task_id', '=', taskId)
        .$if(status !== undefined, (query) => query.where(STATUS_CONDITION[status ?? 'failed']))
        .orderBy('sent_at', 'desc')
        .orderBy('id', 'desc')
        .limit(page.size + 1)
        .offset(pageOffset(page)),
    )
    .selectFrom('page as d')
    .innerJoin('task_results as r', 'r.id', 'd.task_result_id')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .selectAll('d')
    .select(['r.stage', 'r.status as result_status', 'r.run_id', 'w.id as workspace_id', 'w.name as workspace_name'])
    .select(['w.organization_id', sharedAccessColumn(actor).as('access')])
    .orderBy('d.sent_at', 'desc')
    .orderBy('d.id', 'desc')
    .execute()
  return shareAccess(rows)
}

export type TaskHealthRow = {
  task_id: string
  recent: boolean[]
  median_ms: number | null
  p95_ms: number | null
  last_sent_at: Date | null
  last_error: string | null
  last_error_at: Date | null
}

/** Statistics of the last `limit` deliveries of each task, in one query. */
export async function listTaskHealth(db: Db, taskIds: readonly string[], limit: number) {
  const { rows } = await sql<TaskHealthRow>`
    select task.id as task_id, health.*
      from unnest(${taskIds}::text[]) task (id)
      cross join lateral (
        select coalesce(array_agg(last.succeeded order by last.sent_at, last.id), '{}') as recent,
               percentile_disc(0.5) within group (order by last.response_ms) as median_ms,
               percentile_disc(0.95) within group (order by last.response_ms) as p95_ms,
               max(last.sent_at) as last_sent_at,
               max(last.sent_at) filter (where last.error is not null) as last_error_at,
               (array_agg(last.error order by last.sent_at desc, last.id desc) filter (where last.error is not null))[1]
                 as last_error
          from (select id, sent_at, error, response_status is not distinct from 200 as succeeded,
                       case when response_status is not null then duration_ms end as response_ms
                  from task_deliveries where task_id = task.id order by sent_at desc, id desc limit ${limit}) last
      ) health`.execute(db)
  return rows
}

export type LastDelivery = Awaited<ReturnType<typeof listLastDeliveries>>[number]

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

export type DeliveryCursor = { sent_at: Date; id: string }

type Batch = { before: Date; after: DeliveryCursor | undefined; limit: number }

/** Deletes the deliveries of ended results among the next ones, except of saved plans and current runs. Returns all that it examined. */
export async function endDeliveries(db: Db, { before, after, limit }: Batch) {
  const isLater = after ? sql`(d.sent_at, d.id) > (${after.sent_at}, ${after.id})` : sql`true`
  const { rows } = await sql<DeliveryCursor & { is_deleted: boolean }>`
    with page as materialized (
      select d.id, d.sent_at from task_deliveries d
       where d.sent_at < ${before} and ${isLater}
       order by d.sent_at, d.id limit ${limit}
    ), due as (
      select d.id from page
        join task_deliveries d on d.id = page.id
        join task_results r on r.id = d.task_result_id
        join runs on runs.id = r.run_id
        join workspaces w on w.id = runs.workspace_id
       where r.status not in ('pending', 'running') and runs.status <> 'planned_and_saved' and not runs.occupies
         and runs.id is distinct from w.current_run_id
         for update of d skip locked
    ), deleted as (
      delete from task_deliveries d using due where d.id = due.id returning d.id
    )
    select page.id, page.sent_at, deleted.id is not null as is_deleted
      from page left join deleted on deleted.id = page.id
     order by page.sent_at, page.id`.execute(db)
  return rows
}

export async function deleteBodiesOfRuns(db: Db, runIds: readonly string[]) {
  await sql`
    delete from task_outcome_bodies b using task_outcomes o, task_results r
     where r.run_id = any(${runIds}) and o.task_result_id = r.id and b.task_outcome_id = o.id`.execute(db)
}
