import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { changeWithEvent } from '../../../audit/store.ts'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import { deferWrite } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'

type Versions = Schema['configuration_versions']
export type ConfigurationVersionRow = Selectable<Versions>

export const insertConfigurationVersion = changeWithEvent<Insertable<Versions>, ConfigurationVersionRow>((db, slot) =>
  db
    .insertInto('configuration_versions')
    .values({
      id: slot((row) => row.id),
      workspace_id: slot((row) => row.workspace_id),
      status: slot((row) => row.status),
      status_timestamps: slot((row) => row.status_timestamps),
      source: slot((row) => row.source),
      auto_queue_runs: slot((row) => row.auto_queue_runs),
      speculative: slot((row) => row.speculative),
      provisional: slot((row) => row.provisional),
      ingress_attributes_id: slot((row) => row.ingress_attributes_id),
      created_by_user_id: slot((row) => row.created_by_user_id),
      created_at: slot((row) => row.created_at),
    })
    .returningAll(),
)

/** Inserts versions with the next statement. */
export async function insertConfigurationVersions(tx: Tx, rows: readonly NewRow<'configuration_versions'>[]) {
  if (rows.length > 0) await deferWrite(tx, insertRows(tx, 'configuration_versions', rows))
}

/** Versions with their workspace and the actor's access to it. */
function selectVersions(db: Db, access: ReturnType<typeof workspaceAccessColumn>) {
  return db
    .selectFrom('configuration_versions as cv')
    .innerJoin('workspaces as w', 'w.id', 'cv.workspace_id')
    .selectAll('cv')
    .select(['w.organization_id', 'w.name as workspace_name', 'w.current_configuration_version_id'])
    .select(access.as('access'))
}

export async function findConfigurationVersion(db: Db, actor: Actor, id: string) {
  return selectVersions(db, workspaceAccessColumn(actor)).where('cv.id', '=', id).executeTakeFirst()
}

/** A version without an access check, for signed URLs and jobs. */
export async function findConfigurationVersionRow(db: Db, id: string) {
  return db.selectFrom('configuration_versions').selectAll().where('id', '=', id).executeTakeFirst()
}

export type IngressRow = Selectable<Schema['ingress_attributes']>

/** The commits of versions in workspaces that the actor may see. */
export async function findIngressAttributes(db: Db, actor: Actor, ids: readonly string[]): Promise<IngressRow[]> {
  return db
    .selectFrom('ingress_attributes as ia')
    .selectAll('ia')
    .where(sql<boolean>`ia.id = any(${ids})`)
    .where(sql<boolean>`exists (select from configuration_versions cv join workspaces w on w.id = cv.workspace_id
      where cv.ingress_attributes_id = ia.id and ${visibleWorkspace(actor)})`)
    .execute()
}

/** Selects what decides whether a new run can use the version, by default the current one of the workspace. */
export function selectVersionForRun(db: Db, { id, workspaceId }: { id: string | undefined; workspaceId: string }) {
  const current = sql<string>`(select current_configuration_version_id from workspaces where id = ${workspaceId})`
  return db
    .selectFrom('configuration_versions')
    .select(['id', 'status', 'speculative', 'ingress_attributes_id'])
    .select(
      sql<boolean>`coalesce((select c.is_fork from ingress_attributes c where c.id = ingress_attributes_id), false)`.as(
        'is_fork',
      ),
    )
    .where('id', '=', id ?? current)
    .where('workspace_id', '=', workspaceId)
}

export async function findConfigurationVersions(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectVersions(db, sharedAccessColumn(actor))
    .where('cv.id', '=', sql<string>`any(${ids})`)
    .execute()
  return shareAccess(rows)
}

export async function listConfigurationVersions(db: Db, { workspaceId, page }: { workspaceId: string; page: Page }) {
  const all = db.selectFrom('configuration_versions').where('workspace_id', '=', workspaceId)
  return readPaged(page, all.selectAll().orderBy('seq', 'desc'), all)
}

type Status = ConfigurationVersionRow['status']
type StatusChange = { from: Status; to: Status; now: Date; stamp?: string; changes?: Updateable<Versions> }

const stampColumn = (name: string, now: Date) =>
  sql<string>`status_timestamps || jsonb_build_object(${name}::text, ${now.toISOString()}::text)`

/** Changes the status of a version and records the time as `stamp`; undefined if its status is no longer `from`. */
export async function updateStatus(tx: Tx, id: string, { from, to, now, stamp = to, changes }: StatusChange) {
  const version = await tx
    .updateTable('configuration_versions')
    .set({ ...changes, status: to, status_timestamps: stampColumn(stamp, now) })
    .where('id', '=', id)
    .where('status', '=', from)
    .returningAll()
    .executeTakeFirst()
  if (version && from === 'uploaded') await deleteReadmes(tx, [id])
  return version
}

/** Makes a version the current one of its workspace, unless the current one is newer. */
export async function setCurrentConfiguration(db: Db, { id, workspaceId }: { id: string; workspaceId: string }) {
  const isNewer = isNewerConfiguration({ id: sql`${id}`, currentId: sql.ref('current_configuration_version_id') })
  const update = db.updateTable('workspaces').set({ current_configuration_version_id: id })
  await update.where('id', '=', workspaceId).where(isNewer).execute()
}

/** As `setCurrentConfiguration`, unless the workspace follows another repository or branch by now. */
export async function setFetchedConfiguration(db: Db, { id, workspaceId }: { id: string; workspaceId: string }) {
  const isNewer = isNewerConfiguration({ id: sql`${id}`, currentId: sql.ref('current_configuration_version_id') })
  const isOwn = sql<boolean>`exists (select from configuration_versions cv
    join ingress_attributes ia on ia.id = cv.ingress_attributes_id join repositories r on r.id = ia.repository_id
    where cv.id = ${id} and r.id = workspaces.repository_id
      and (ia.tag is not null or ia.branch = coalesce(workspaces.vcs_branch, r.default_branch, ia.branch)))`
  const update = db.updateTable('workspaces').set({ current_configuration_version_id: id })
  await update.where('id', '=', workspaceId).where(isNewer).where(isOwn).execute()
}

/** Whether a version was created after the current one, or there is none; by number, because of clock skew. */
export function isNewerConfiguration({ id, currentId }: { id: RawBuilder<unknown>; currentId: RawBuilder<unknown> }) {
  const seqOf = (id: RawBuilder<unknown>) => sql`(select seq from configuration_versions where id = ${id})`
  return sql<boolean>`coalesce(${seqOf(id)} > ${seqOf(currentId)}, true)`
}

/** Marks pending versions created before `before` as errored; returns their number. */
export async function failAbandoned(db: Db, { before, now, message }: { before: Date; now: Date; message: string }) {
  const { numUpdatedRows } = await db
    .updateTable('configuration_versions')
    .set({
      status: 'errored',
      error: 'upload_expired',
      error_message: message,
      status_timestamps: stampColumn('errored', now),
    })
    .where('status', '=', sql.lit('pending' as const))
    .where('created_at', '<', before)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

export async function findRunOf(db: Db, id: string) {
  const row = await db
    .selectFrom('runs')
    .select('id')
    .where('configuration_version_id', '=', id)
    .where('status', 'not in', ENDED_STATUSES)
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** Unfinished runs that wait for a version, in the order of their creation. */
/** Stores why a fetch is repeated. */
export async function setFetchProblem(db: Db, versionIds: readonly string[], problem: string) {
  await db
    .updateTable('configuration_versions')
    .set({ fetch_problem: problem })
    .where(sql<boolean>`id = any(${versionIds})`)
    .where('status', '=', 'fetching')
    .execute()
}

export async function listFetchingRuns(db: Db, versionIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where(sql<boolean>`configuration_version_id = any(${versionIds})`)
    .where('fetches', '=', true)
    .where('status', 'not in', ENDED_STATUSES)
    .orderBy('seq')
    .execute()
  return rows.map(({ id }) => id)
}

/** Those of the keys that versions name. */
export async function findSharedKeys(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const isShared = sql<boolean>`blob_key like 'repository-archives/%'`
  const isListed = sql<boolean>`blob_key = any(${keys})`
  const versions = db.selectFrom('configuration_versions').select('blob_key').distinct()
  const rows = await versions.where(isShared).where(isListed).execute()
  return new Set(rows.flatMap((row) => row.blob_key ?? []))
}

export async function findArchiveKeys(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const versions = db.selectFrom('configuration_versions').where('id', '=', sql<string>`any(${ids})`)
  const rows = await versions.select('blob_key').execute()
  return new Set(rows.flatMap((row) => row.blob_key ?? []))
}

export type ReadmeRow = Pick<Selectable<Schema['configuration_readmes']>, 'path' | 'markdown' | 'is_cut'>
export type ReadmeKey = { versionId: string; workingDirectory: string }

/** The cached README; undefined before the first read, a null path if there is none. */
export async function findReadme(db: Db, { versionId, workingDirectory }: ReadmeKey): Promise<ReadmeRow | undefined> {
  return db
    .selectFrom('configuration_readmes')
    .select(['path', 'markdown', 'is_cut'])
    .where('configuration_version_id', '=', versionId)
    .where('working_directory', '=', workingDirectory)
    .executeTakeFirst()
}

/** Caches a README, unless the archive was deleted in the meantime. */
export async function insertReadme(db: Db, { versionId, workingDirectory }: ReadmeKey, row: ReadmeRow) {
  await sql`insert into configuration_readmes (configuration_version_id, working_directory, path, markdown, is_cut)
    select cv.id, ${workingDirectory}, ${row.path}, ${row.markdown}, ${row.is_cut}
      from configuration_versions cv where cv.id = ${versionId} and cv.status = 'uploaded' for share
    on conflict do nothing`.execute(db)
}

/** Deletes the READMEs of deleted archives, with the next statement of the transaction. */
async function deleteReadmes(tx: Tx, versionIds: readonly string[]) {
  const ofVersions = sql<boolean>`configuration_version_id = any(${versionIds})`
  await deferWrite(tx, tx.deleteFrom('configuration_readmes').where(ofVersions))
}

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

/** Whether a version `cv` is not current in its workspace `w`, nor used by its current, an unfinished or a recent run. */
function isUnused(before: Date) {
  return sql`cv.id is distinct from w.current_configuration_version_id
    and not exists (select from runs r where r.configuration_version_id = cv.id
                       and (r.status <> all(${ENDED_STATUSES}) or r.id = w.current_run_id or r.created_at >= ${before}))`
}
