import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export type TaskDeliveryRow = Selectable<Schema['task_deliveries']>
/** One attempt at a request, leased to this process: `attempt` tells whether the lease is still its own. */
export type Claim = { id: string; attempt: number }

/** Leases requests that are due, so that each is sent by one process; those of a process that died fall due again. */
export async function claimDeliveries(
  db: Db,
  { now, leaseUntil, limit }: { now: Date; leaseUntil: Date; limit: number },
) {
  const { rows } = await sql<Claim>`update task_results r
       set lease_expires_at = ${leaseUntil}, attempts = r.attempts + 1
      from (select id from task_results
             where delivery_due_at <= ${now} and deadline_at > ${now} and (lease_expires_at is null or lease_expires_at <= ${now})
             order by delivery_due_at limit ${limit} for update skip locked) due
     where r.id = due.id
    returning r.id, r.attempts as attempt`.execute(db)
  return rows
}

export async function renewLeases(db: Db, ids: readonly string[], leaseUntil: Date) {
  await sql`update task_results set lease_expires_at = ${leaseUntil}
     where id = any(${ids}) and lease_expires_at is not null`.execute(db)
}

/** Everything that a request tells, and where it goes; `task_id` is null when the task is gone. */
export async function findRequestFacts(db: Db, id: string) {
  return db
    .selectFrom('task_results as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('configuration_versions as cv', 'cv.id', 'runs.configuration_version_id')
    .innerJoin('phases as plan', (join) =>
      join.onRef('plan.run_id', '=', 'runs.id').on('plan.kind', '=', sql.lit('plan' as const)),
    )
    .leftJoin('users as u', 'u.id', 'runs.created_by_user_id')
    .leftJoin('tasks as t', 't.id', 'r.task_id')
    .select(['r.id', 'r.stage', 'r.access_token', 'r.enforcement_level', 'r.deadline_at', 'r.task_name'])
    .select(['o.name as organization_name', 'w.id as workspace_id', 'w.name as workspace_name'])
    .select(['runs.id as run_id', 'runs.created_at as run_created_at', 'runs.message as run_message'])
    .select(['runs.plan_only', 'runs.working_directory', 'u.username', 'plan.id as plan_id'])
    .select(['cv.id as configuration_version_id', 'cv.status as configuration_status'])
    .select(['t.id as task_id', 't.url', 't.hmac_key', 't.ca_certificates'])
    .where('r.id', '=', id)
    .where('r.status', '=', sql.lit('running' as const))
    .executeTakeFirst()
}

export type NewDelivery = Omit<
  TaskDeliveryRow,
  'request_headers' | 'response_headers' | 'task_result_id' | 'attempt'
> & {
  request_headers: Record<string, string>
  response_headers: Record<string, string | string[]> | null
}

/**
 * Records an attempt and frees its lease. The request is due again at `next_attempt_at`, unless it has been delivered, a
 * callback has come, or another process has taken the request over in between.
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
      returning delivery_due_at)
    insert into task_deliveries (id, task_result_id, attempt, sent_at, duration_ms, url, request_headers, request_body,
        response_status, response_headers, response_body, response_truncated, error, next_attempt_at)
    values (${row.id}, ${claim.id}, ${claim.attempt}, ${row.sent_at}, ${row.duration_ms}, ${row.url},
        ${JSON.stringify(row.request_headers)}::jsonb, ${row.request_body}, ${row.response_status},
        ${row.response_headers && JSON.stringify(row.response_headers)}::jsonb, ${row.response_body},
        ${row.response_truncated}, ${row.error}, (select delivery_due_at from freed))`.execute(db)
}

/** Gives a claim back without an attempt. */
export async function releaseClaim(db: Db, claim: Claim) {
  await sql`update task_results set lease_expires_at = null, attempts = attempts - 1
     where id = ${claim.id} and attempts = ${claim.attempt}`.execute(db)
}

/** Puts a request up once more; undefined when the result is not open, or an attempt is on its way. */
export async function requeueDelivery(db: Db, id: string, now: Date) {
  const { rows } = await sql<{ id: string }>`update task_results set delivery_due_at = ${now}
     where id = ${id} and status = 'running' and (lease_expires_at is null or lease_expires_at <= ${now})
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
