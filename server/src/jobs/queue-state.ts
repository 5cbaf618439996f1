import { sql } from 'kysely'
import { type Db, type Page, type Paged, pageOffset } from '../db/db.ts'

/** Maximum number of jobs that are counted. */
const MAX_COUNTED = 10_000

/** Index of failed jobs; pg-boss has none. */
export const FAILED_JOBS_INDEX = `do $$ begin
  if to_regclass('pgboss.groundstate_failed_idx') is null then
    create index groundstate_failed_idx on pgboss.job_common (completed_on desc, id) where state = 'failed';
  end if;
exception when duplicate_table or unique_violation then null;
end $$`

export type QueueCounts = {
  name: string
  waiting: number
  scheduled: number
  active: number
  failed: number
  oldest_waiting_at: Date | null
}

/** Counts the jobs of each queue. pg-boss counts the active ones every 20 seconds. */
export async function countJobs(db: Db): Promise<QueueCounts[]> {
  const { rows } = await sql<QueueCounts>`
    with waiting as (
      select name, count(*) filter (where start_after <= now()) as due, count(*) filter (where start_after > now()) as later,
             min(start_after) filter (where start_after <= now()) as oldest
        from (select name, start_after from pgboss.job where state < 'active' and not blocked limit ${sql.lit(MAX_COUNTED)}) j
       group by name),
    failed as (
      select name, count(*) as total
        from (select name from pgboss.job where state = 'failed' limit ${sql.lit(MAX_COUNTED)}) j group by name)
    select q.name, coalesce(w.due, 0) as waiting, coalesce(w.later, 0) as scheduled, q.active_count as active,
           coalesce(f.total, 0) as failed, w.oldest as oldest_waiting_at
      from pgboss.queue q left join waiting w using (name) left join failed f using (name)
     where q.name not like '\\_\\_pgboss%' order by q.name`.execute(db)
  return rows
}

export type FailedJob = {
  id: string
  name: string
  data: Record<string, unknown> | null
  error: string | null
  attempts: number
  created_on: Date
  completed_on: Date
}

/** Jobs that have failed and are not retried automatically; without a kind or an id, all of them. */
export type FailedFilter = { id?: string | undefined; kind?: string | undefined }

function matching({ id, kind }: FailedFilter) {
  return sql`j.state = 'failed'
    ${id === undefined ? sql`` : sql`and j.id::text = ${id}`} ${kind === undefined ? sql`` : sql`and j.name = ${kind}`}`
}

/** The latest failure comes first. */
export async function listFailedJobs(db: Db, filter: FailedFilter, page: Page): Promise<Paged<FailedJob>> {
  const { rows } = await sql<FailedJob>`
    select j.id, j.name, j.data, left(coalesce(j.output ->> 'message', j.output::text), 2000) as error,
           j.retry_count + 1 as attempts, j.created_on, j.completed_on
      from pgboss.job j where ${matching(filter)}
     order by j.completed_on desc, j.id limit ${page.size} offset ${pageOffset(page)}`.execute(db)
  const counted = await sql<{ total: number }>`
    select count(*) as total from pgboss.job j where ${matching(filter)}`.execute(db)
  return { rows, total: counted.rows[0]?.total ?? 0 }
}

type Changed = { id: string; name: string }

/** Makes failed jobs due again, with one more attempt. */
export async function requeueFailedJobs(db: Db, filter: FailedFilter) {
  const { rows } = await sql<Changed>`
    update pgboss.job j set state = 'retry', retry_limit = j.retry_count + 1, start_after = now(), completed_on = null
     where ${matching(filter)} returning j.id, j.name`.execute(db)
  return rows
}

export async function deleteFailedJobs(db: Db, filter: FailedFilter) {
  const { rows } = await sql<Changed>`
    delete from pgboss.job j where ${matching(filter)} returning j.id, j.name`.execute(db)
  return rows
}
