import { ENDED_STATUSES } from '@groundstate/contract/run-status'
import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { changeWithEvent } from '../../../audit/store.ts'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { deleteReadmes } from './readme-store.ts'

export type ConfigurationVersionRow = Selectable<Schema['configuration_versions']>

export const insertConfigurationVersion = changeWithEvent<
  Insertable<Schema['configuration_versions']>,
  ConfigurationVersionRow
>((db, slot) =>
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
      created_by_user_id: slot((row) => row.created_by_user_id),
      created_at: slot((row) => row.created_at),
    })
    .returningAll(),
)

/** Versions with their workspace and its facts. */
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

/** The fields that decide whether a new run can use the given version of the workspace, or else the current one. */
export function selectVersionForRun(db: Db, { id, workspaceId }: { id: string | undefined; workspaceId: string }) {
  const wanted =
    id === undefined
      ? sql`(select current_configuration_version_id from workspaces where id = ${workspaceId})`
      : sql`${id}`
  return db
    .selectFrom('configuration_versions')
    .select(['id', 'status', 'speculative'])
    .where('id', '=', sql<string>`${wanted}`)
    .where('workspace_id', '=', workspaceId)
}

export async function findConfigurationVersions(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectVersions(db, sharedAccessColumn(actor))
    .where('cv.id', '=', sql<string>`any(${ids})`)
    .execute()
  return shareAccess(rows)
}

export async function listConfigurationVersions(db: Db, { workspaceId, page }: { workspaceId: string; page: Page }) {
  const query = db.selectFrom('configuration_versions').where('workspace_id', '=', workspaceId)
  const rows = await query.selectAll().orderBy('seq', 'desc').limit(page.size).offset(pageOffset(page)).execute()
  const count = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total: count.total }
}

type Status = ConfigurationVersionRow['status']

/** Changes the status of a version and records the time; undefined if its status is no longer `from`. */
export async function updateStatus(
  tx: Tx,
  id: string,
  {
    from,
    to,
    stamp,
    now,
    changes,
  }: { from: Status; to: Status; stamp: string; now: Date; changes?: Updateable<Schema['configuration_versions']> },
) {
  const version = await tx
    .updateTable('configuration_versions')
    .set({
      ...changes,
      status: to,
      status_timestamps: sql<string>`status_timestamps || jsonb_build_object(${stamp}::text, ${now.toISOString()}::text)`,
    })
    .where('id', '=', id)
    .where('status', '=', from)
    .returningAll()
    .executeTakeFirst()
  if (version && from === 'uploaded') await deleteReadmes(tx, [id])
  return version
}

/** Makes a version the current one of its workspace, unless that was created later. */
export async function setCurrentConfiguration(db: Db, { id, workspaceId }: { id: string; workspaceId: string }) {
  await db
    .updateTable('workspaces')
    .set({ current_configuration_version_id: id })
    .where('id', '=', workspaceId)
    .where(isNewerConfiguration({ id: sql`${id}`, currentId: sql.ref('current_configuration_version_id') }))
    .execute()
}

/** Whether a version was created after the current one, or there is none. Clocks of servers differ, so numbers count. */
export function isNewerConfiguration({ id, currentId }: { id: RawBuilder<unknown>; currentId: RawBuilder<unknown> }) {
  const seqOf = (id: RawBuilder<unknown>) => sql`(select seq from configuration_versions where id = ${id})`
  return sql<boolean>`coalesce(${seqOf(id)} > ${seqOf(currentId)}, true)`
}

/** Makes versions errored that were created before `before` and never got their archive; returns how many. */
export async function failAbandoned(db: Db, { before, now, message }: { before: Date; now: Date; message: string }) {
  const { numUpdatedRows } = await db
    .updateTable('configuration_versions')
    .set({
      status: 'errored',
      error: 'upload_expired',
      error_message: message,
      status_timestamps: sql<string>`status_timestamps || jsonb_build_object('errored', ${now.toISOString()}::text)`,
    })
    .where('status', '=', sql.lit('pending' as const))
    .where('created_at', '<', before)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

/** The id of an unfinished run that needs the archive. */
export async function findRunInNeed(db: Db, id: string) {
  const row = await db
    .selectFrom('runs')
    .select('id')
    .where('configuration_version_id', '=', id)
    .where('status', 'not in', ENDED_STATUSES)
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** The blob keys of the archives of these versions. */
export async function findNamedArchives(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('configuration_versions')
    .select('blob_key')
    .where('id', '=', sql<string>`any(${ids})`)
    .execute()
  return new Set(rows.flatMap((row) => row.blob_key ?? []))
}
