import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Documents of a plan or an apply that expire. */
export type KeptPart = 'log' | 'json' | 'file'

/** Cursor of a list of due phases. */
export type PhasePlace = { ended_at: Date; id: string }

type Due = PhasePlace & {
  /** Null for one that stays: its run has not ended, or is the current one of its workspace. */
  run_id: string | null
  log_size: number | null
  job_ids: string[]
}

const PARTS: Readonly<Record<KeptPart, { column: string; isKept: RawBuilder<boolean>; staysWhileCurrent: boolean }>> = {
  log: {
    column: 'log_deleted_at',
    isKept: sql<boolean>`p.log_size > 0 and p.log_deleted_at is null`,
    staysWhileCurrent: true,
  },
  json: {
    column: 'json_deleted_at',
    isKept: sql<boolean>`p.kind = 'plan' and p.ended_at is not null and p.json_deleted_at is null`,
    staysWhileCurrent: true,
  },
  file: {
    column: 'file_deleted_at',
    isKept: sql<boolean>`p.kind = 'plan' and p.ended_at is not null and p.file_deleted_at is null`,
    staysWhileCurrent: false,
  },
}

type Query = { before: Date; after: PhasePlace | undefined; now: Date; limit: number }

/**
 * Looks at the next phases that ended before a moment, the oldest first, and records that a part of them is no longer kept. Those
 * that another user has locked stay. Returns all that it has looked at, with the jobs that have worked on them.
 */
export async function endPhaseParts(db: Db, part: KeptPart, { before, after, now, limit }: Query): Promise<Due[]> {
  const { column, isKept, staysWhileCurrent } = PARTS[part]
  const isLater = after ? sql`(p.ended_at, p.id) > (${after.ended_at}, ${after.id})` : sql`true`
  const isFree = staysWhileCurrent ? sql`r.id is distinct from w.current_run_id` : sql`true`
  const { rows } = await sql<Due>`
    with page as materialized (
      select p.id, p.ended_at from phases p
       where ${isKept} and p.ended_at < ${before} and ${isLater}
       order by p.ended_at, p.id limit ${limit}
    ), due as (
      select p.id from page
        join phases p on p.id = page.id
        join runs r on r.id = p.run_id
        join workspaces w on w.id = r.workspace_id
       where ${isKept} and r.status = any(${ENDED_STATUSES}) and ${isFree}
         for no key update of p skip locked
    ), ended as (
      update phases p set ${sql.ref(column)} = ${now} from due where p.id = due.id returning p.id, p.run_id, p.log_size
    )
    select page.id, page.ended_at, ended.run_id, ended.log_size,
           array(select j.id from agent_jobs j where j.phase_id = ended.id) as job_ids
      from page left join ended on ended.id = page.id
     order by page.ended_at, page.id`.execute(db)
  return rows
}

/**
 * Deletes the events and the jobs of runs whose plan ended before a moment and is no longer kept as JSON, as `endPhaseParts`.
 * Until then the jobs tell where its files are.
 */
export async function endHistories(db: Db, { before, after, now, limit }: Query) {
  const isKept = sql`p.kind = 'plan' and p.json_deleted_at is not null and p.history_deleted_at is null`
  const isLater = after ? sql`(p.ended_at, p.id) > (${after.ended_at}, ${after.id})` : sql`true`
  const { rows } = await sql<PhasePlace & { run_id: string | null }>`
    with page as materialized (
      select p.id, p.ended_at from phases p
       where ${isKept} and p.ended_at < ${before} and ${isLater}
       order by p.ended_at, p.id limit ${limit}
    ), due as (
      select p.id from page join phases p on p.id = page.id
       where ${isKept} and p.file_deleted_at is not null
         for no key update of p skip locked
    ), ended as (
      update phases p set history_deleted_at = ${now} from due where p.id = due.id returning p.id, p.run_id
    ), events as (
      delete from run_events e using ended where e.run_id = ended.run_id
    ), jobs as (
      delete from agent_jobs j using ended where j.run_id = ended.run_id and j.status = 'ended'
    )
    select page.id, page.ended_at, ended.run_id
      from page left join ended on ended.id = page.id
     order by page.ended_at, page.id`.execute(db)
  return rows
}
