import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

export type ExpiringPart = 'log' | 'json' | 'file'
export type PhaseCursor = { ended_at: Date; id: string }

type Part = { column: string; isKept: RawBuilder<unknown>; isKeptWhileCurrent: boolean }

const planPart = (column: string, isKeptWhileCurrent: boolean): Part => {
  const isKept = sql`p.kind = 'plan' and p.ended_at is not null and ${sql.ref(`p.${column}`)} is null`
  return { column, isKept, isKeptWhileCurrent }
}
const PARTS: Readonly<Record<ExpiringPart, Part>> = {
  log: {
    column: 'log_deleted_at',
    isKept: sql`p.log_size > 0 and p.log_deleted_at is null`,
    isKeptWhileCurrent: true,
  },
  json: planPart('json_deleted_at', true),
  file: planPart('file_deleted_at', false),
}

type Query = { before: Date; after: PhaseCursor | undefined; now: Date; limit: number }

/** The next phases that ended before a time, oldest first. */
function nextPhases(isKept: RawBuilder<unknown>, { before, after, limit }: Query) {
  const isLater = after ? sql`(p.ended_at, p.id) > (${after.ended_at}, ${after.id})` : sql`true`
  return sql`select p.id, p.ended_at from phases p
     where ${isKept} and p.ended_at < ${before} and ${isLater}
     order by p.ended_at, p.id limit ${limit}`
}

/** `run_id` is null for phases that are kept: the run is unfinished, current in its workspace or locked. */
type Expired = PhaseCursor & { run_id: string | null }

/** Marks a part of the next phases as deleted. Returns these phases with the jobs that executed them. */
export async function expirePhaseParts(db: Db, part: ExpiringPart, query: Query) {
  const { column, isKept, isKeptWhileCurrent } = PARTS[part]
  const isFree = isKeptWhileCurrent ? sql`r.id is distinct from w.current_run_id` : sql`true`
  const { rows } = await sql<Expired & { log_size: number | null; job_ids: string[] }>`
    with page as materialized (${nextPhases(isKept, query)}), due as (
      select p.id from page
        join phases p on p.id = page.id
        join runs r on r.id = p.run_id
        join workspaces w on w.id = r.workspace_id
       where ${isKept} and r.status = any(${ENDED_STATUSES}) and ${isFree}
         for no key update of p skip locked
    ), ended as (
      update phases p set ${sql.ref(column)} = ${query.now} from due where p.id = due.id
      returning p.id, p.run_id, p.log_size
    )
    select page.id, page.ended_at, ended.run_id, ended.log_size,
           array(select j.id from agent_jobs j where j.phase_id = ended.id) as job_ids
      from page left join ended on ended.id = page.id
     order by page.ended_at, page.id`.execute(db)
  return rows
}

/**
 * Deletes the events and jobs of runs whose plan ended before a time and whose JSON is deleted: until then the jobs locate its files.
 */
export async function deleteHistories(db: Db, query: Query) {
  const isKept = sql`p.kind = 'plan' and p.json_deleted_at is not null and p.history_deleted_at is null`
  const { rows } = await sql<Expired>`
    with page as materialized (${nextPhases(isKept, query)}), due as (
      select p.id from page join phases p on p.id = page.id
       where ${isKept} and p.file_deleted_at is not null
         for no key update of p skip locked
    ), ended as (
      update phases p set history_deleted_at = ${query.now} from due where p.id = due.id returning p.id, p.run_id
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
