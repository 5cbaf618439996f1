import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Where a list of due deliveries goes on. */
export type DeliveryPlace = { sent_at: Date; id: string }

/**
 * Looks at the next deliveries from before a moment, the oldest first, and deletes those of results that have ended, but for those of
 * saved plans and of runs that are current in their workspace. Returns all that it has looked at.
 */
export async function endDeliveries(
  db: Db,
  { before, after, limit }: { before: Date; after: DeliveryPlace | undefined; limit: number },
) {
  const isLater = after ? sql`(d.sent_at, d.id) > (${after.sent_at}, ${after.id})` : sql`true`
  const { rows } = await sql<DeliveryPlace & { is_deleted: boolean }>`
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

/** Deletes the texts of the outcomes that the tasks of some runs had. */
export async function deleteBodiesOfRuns(db: Db, runIds: readonly string[]) {
  await sql`
    delete from task_outcome_bodies b using task_outcomes o, task_results r
     where r.run_id = any(${runIds}) and o.task_result_id = r.id and b.task_outcome_id = o.id`.execute(db)
}
