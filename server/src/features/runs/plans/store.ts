import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor, userActor } from '../../../auth/actor.ts'
import type { readAccess } from '../../../auth/workspace-access.ts'
import type { Db } from '../../../db/db.ts'

const COUNTS = ['resource_additions', 'resource_changes', 'resource_destructions', 'resource_imports'] as const

/** A count of a phase. A finished apply has made all changes of its plan, so these count unless its agent has reported others. */
function phaseCount(column: (typeof COUNTS)[number]) {
  return sql<number | null>`case when p.kind = 'apply' and p.status = 'finished' and p.resource_additions is null
    then planned.${sql.ref(column)} else p.${sql.ref(column)} end`.as(column)
}

/** Phases with their run and the last agent that executed them. Only applies have state versions, which refer to the run. */
function selectPhases(db: Db) {
  return db
    .selectFrom('phases as p')
    .innerJoin('runs as r', 'r.id', 'p.run_id')
    .leftJoin('agent_jobs as j', 'j.id', 'p.job_id')
    .leftJoin('agent_pools as pool', 'pool.id', 'r.agent_pool_id')
    .leftJoin('phases as planned', (join) =>
      join.onRef('planned.run_id', '=', 'p.run_id').on('planned.kind', '=', 'plan').on('p.kind', '=', 'apply'),
    )
    .selectAll('p')
    .select(COUNTS.map(phaseCount))
    .select(['r.structured_output', 'r.execution_mode', 'r.agent_pool_id', 'r.workspace_id'])
    .select(['j.executed_by', 'j.agent_name', 'pool.name as agent_pool_name'])
    .select(
      sql<string[]>`array(select sv.id from state_versions sv where p.kind = 'apply' and sv.run_id = p.run_id
          order by sv.revision)`.as('state_version_ids'),
    )
}

export async function findPhase(db: Db, id: string) {
  return selectPhases(db).where('p.id', '=', id).executeTakeFirst()
}
export type Phase = NonNullable<Awaited<ReturnType<typeof findPhase>>>

export async function findPhases(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectPhases(db)
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select('w.organization_id')
    .select(sharedAccessColumn(actor).as('access'))
    .where('p.id', '=', sql<string>`any(${ids})`)
    .execute()
  return shareAccess(rows)
}

/** An active user, with their access to the workspace of a log. */
export type LogReader = Parameters<typeof userActor>[0] & Parameters<typeof readAccess>[1]

type LogRange = { from: number; to: number; readerId?: string | undefined }

/** The size of a log, and its bytes from `from` to `to` if they are stored in rows. `reader` is null if the user is suspended. */
export async function findLog(db: Db, phaseId: string, { from, to, readerId }: LogRange) {
  const reader =
    readerId === undefined
      ? sql<null>`null`
      : sql<LogReader | null>`(
          select jsonb_build_object('id', u.id, 'username', u.username, 'is_site_admin', u.is_site_admin, 'workspace_id', w.id,
                   'organization_id', w.organization_id, 'access', ${workspaceAccessColumn(userInSql(sql`${readerId}`))})
            from runs r join workspaces w on w.id = r.workspace_id join users u on u.id = ${readerId}
           where r.id = p.run_id and u.suspended_at is null)`
  return db
    .selectFrom('phases as p')
    .select(['p.id', 'p.status', 'p.log_size', 'p.log_deleted_at'])
    .select([
      reader.as('reader'),
      sql<number | null>`(select start_offset + octet_length(data) from log_chunks where phase_id = p.id
          order by start_offset desc limit 1)`.as('chunks_end'),
      sql<Buffer | null>`(select substring(string_agg(c.data, ''::bytea order by c.start_offset)
                from (${from}::int8 - min(c.start_offset) + 1)::int for (${to}::int8 - ${from}::int8)::int)
          from log_chunks c
         where c.phase_id = p.id and c.start_offset < ${to}::int8
           and c.start_offset >= (select l.start_offset from log_chunks l
                 where l.phase_id = p.id and l.start_offset <= ${from}::int8
                 order by l.start_offset desc limit 1))`.as('bytes'),
    ])
    .where('p.id', '=', phaseId)
    .executeTakeFirst()
}

type Uncompacted = { before: Date; lostBefore: Date; limit: number }

/** Phases that ended before `before` with their log in rows, except applies lost after `lostBefore`, whose log may still grow. */
export async function listUncompacted(db: Db, { before, lostBefore, limit }: Uncompacted) {
  const mayGrow = sql<boolean>`exists (select from agent_jobs j where j.phase_id = phases.id and j.kind = 'apply'
    and j.lost_at >= ${lostBefore} and j.late_result_at is null)`
  return db
    .selectFrom('phases')
    .select('id')
    .where('ended_at', '<', before)
    .where('log_size', 'is', null)
    .where((eb) => eb.not(mayGrow))
    .orderBy('ended_at')
    .limit(limit)
    .execute()
}

export async function findLoggedPhases(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const phases = db.selectFrom('phases').where('id', '=', sql<string>`any(${ids})`)
  const rows = await phases.select('id').where('log_deleted_at', 'is', null).execute()
  return new Set(rows.map((row) => row.id))
}

export async function findPlansOfRuns(db: Db, runIds: readonly string[]) {
  return db
    .selectFrom('phases')
    .select(['run_id', 'json_deleted_at', 'file_deleted_at'])
    .where('run_id', '=', sql<string>`any(${runIds})`)
    .where('kind', '=', 'plan')
    .execute()
}

/** Records the size of a log that was moved to blobs and deletes its rows. */
export async function deleteLogRows(db: Db, { phaseId, size }: { phaseId: string; size: number }) {
  await db
    .with('stored', (db) =>
      db.updateTable('phases').set({ log_size: size }).where('id', '=', phaseId).where('log_size', 'is', null),
    )
    .deleteFrom('log_chunks')
    .where('phase_id', '=', phaseId)
    .execute()
}

/** Since when the documents of a plan are pending, or why they are unavailable. */
export async function findPendingDocuments(db: Db, phaseId: string) {
  const columns = ['documents_pending_since', 'documents_error'] as const
  return db.selectFrom('phases').select(columns).where('id', '=', phaseId).executeTakeFirst()
}

type ExpiringPart = 'log' | 'json' | 'file'
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

/** Deletes events and jobs of runs whose plan's JSON is deleted; until then the jobs locate its files. */
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
