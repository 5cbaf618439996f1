import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { deleteReadmes } from './store.ts'

export type ArchiveCursor = { created_at: Date; id: string }
type Listed = ArchiveCursor & { workspace_id: string }
type ArchivePage = { before: Date; after: ArchiveCursor | undefined; limit: number }

/** Archives of versions created before a time, oldest first. `is_due`: unused, and its workspace has no data retention policy. */
export async function listOldArchives(db: Db, { before, after, limit }: ArchivePage) {
  const isLater = after ? sql`(cv.created_at, cv.id) > (${after.created_at}, ${after.id})` : sql`true`
  const { rows } = await sql<Listed & { is_due: boolean }>`
    with page as materialized (
      select cv.id, cv.created_at, cv.workspace_id from configuration_versions cv
       where cv.status = 'uploaded' and cv.created_at < ${before} and ${isLater}
       order by cv.created_at, cv.id limit ${limit}
    )
    select cv.*, ${isUnused(before)}
             and not exists (select from data_retention_policies p
                              where p.workspace_id = w.id or p.organization_id = w.organization_id) as is_due
      from page cv join workspaces w on w.id = cv.workspace_id
     order by cv.created_at, cv.id`.execute(db)
  return rows
}

/** Unused archives of a workspace created before a time, oldest first. */
export async function listOldArchivesOf(db: Db, workspaceId: string, { before, limit }: Omit<ArchivePage, 'after'>) {
  const { rows } = await sql<Listed>`
    select cv.id, cv.created_at, cv.workspace_id from configuration_versions cv join workspaces w on w.id = cv.workspace_id
     where cv.workspace_id = ${workspaceId} and cv.status = 'uploaded' and cv.created_at < ${before}
       and ${isUnused(before)}
     order by cv.seq limit ${limit}`.execute(db)
  return rows
}

/** Locks those of the workspaces that are not locked, so that no new run uses an archive. Returns their ids. */
export async function lockFreeWorkspaces(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from workspaces where id = any(${ids}) order by id for no key update skip locked`.execute(tx)
  return rows.map(({ id }) => id)
}

type Unused = { ids: readonly string[]; workspaceIds: readonly string[]; before: Date; now: Date }

/** Archives those of the versions that are unused. Returns the keys of their archives. The caller has locked the workspaces. */
export async function archiveUnused(tx: Tx, { ids, workspaceIds, before, now }: Unused) {
  const { rows } = await sql<{ id: string; key: string | null }>`
    with due as (
      select cv.id, cv.blob_key from configuration_versions cv join workspaces w on w.id = cv.workspace_id
       where cv.id = any(${ids}) and cv.workspace_id = any(${workspaceIds}) and cv.status = 'uploaded'
         and ${isUnused(before)}
         for no key update of cv skip locked
    )
    update configuration_versions cv
       set status = 'archived', blob_key = null, size = null,
           status_timestamps = status_timestamps || jsonb_build_object('archived', ${now.toISOString()}::text)
      from due where cv.id = due.id
    returning cv.id, due.blob_key as key`.execute(tx)
  const archived = rows.map(({ id }) => id)
  if (archived.length > 0) await deleteReadmes(tx, archived)
  return rows
}

/**
 * Whether a version `cv` is neither the current one of its workspace `w`, nor that of the current run, of an unfinished run or of one
 * since `before`.
 */
function isUnused(before: Date) {
  return sql`cv.id is distinct from w.current_configuration_version_id
    and not exists (select from runs r where r.configuration_version_id = cv.id
                       and (r.status <> all(${ENDED_STATUSES}) or r.id = w.current_run_id or r.created_at >= ${before}))`
}
