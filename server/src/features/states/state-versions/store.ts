import { type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { type AccessColumn, shareAccess } from '../../../auth/access-context.ts'
import { type ActorInSql, sharedAccessColumn, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { deferWrite } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type WorkspaceRow, countRows } from '../../workspaces/workspaces/store.ts'
import { otherProviders } from './extraction-store.ts'

/** Without instances and long lists of resources (`findResourceLists`). Extracted data is the JSON of responses. */
export type StateVersionRow = Omit<
  Selectable<Schema['state_versions']>,
  'instances' | 'modules' | 'providers' | 'resources' | 'resource_list'
> & { modules: string | null; providers: string | null; resources: string | null; has_long_list: boolean } & {
  /** The commit of its run's configuration; the URL is empty if the host has no pages. */
  commit: { sha: string; url: string } | null
}

/** Stored size of a list of resources above which `findResourceLists` reads it, in bytes. */
const LONG_LIST_BYTES = 2000

export const COLUMNS = sql.raw(
  `sv.id, sv.workspace_id, sv.revision, sv.status, sv.serial, sv.md5, sv.lineage, sv.size, sv.intermediate,
   sv.raw_location, sv.json_location, sv.awaits_json, sv.format, sv.engine_version, sv.resources_processed, sv.resource_count,
   sv.billable_count, sv.modules::text, sv.providers::text,
   case when pg_column_size(sv.resources) <= ${LONG_LIST_BYTES} then sv.resources::text end as resources,
   sv.resource_list is not null or coalesce(pg_column_size(sv.resources) > ${LONG_LIST_BYTES}, false) as has_long_list,
   sv.created_by_user_id, sv.lock_holder_id, sv.run_id, sv.rollback_of_id, sv.created_at, sv.soft_deleted_at, sv.purge_at,
   (select jsonb_build_object('sha', c.commit_sha, 'url', c.commit_url)
      from runs r join ingress_attributes c on c.id = r.ingress_attributes_id
     where r.id = sv.run_id) as commit`,
)
const PRESENTED = sql`${COLUMNS},
  array(select o.id from state_version_outputs o where o.state_version_id = sv.id order by o.name) as output_ids`

/** A version with the ids of its outputs, for a resource. */
export type PresentedRow = StateVersionRow & { output_ids: string[] }

type InSql = string | RawBuilder<string>

/** A version with its workspace and the actor's access to it. */
export type FoundStateVersion = PresentedRow & {
  organization_id: string
  workspace_name: string
  repository_id: string | null
  current_state_version_id: string | null
  plan: string
  access: AccessColumn
}

export async function findStateVersion(db: Db, actor: Actor, key: { id: string } | { currentOf: string }) {
  if (actor.kind === 'user') {
    const { userId } = actor
    return 'id' in key ? findForUserById(db, { userId, ...key }) : findForUserByWorkspace(db, { userId, ...key })
  }
  const { rows } = await selectStateVersion(actor, key).execute(db)
  return rows[0]
}

export async function findStateVersions(db: Db, actor: Actor, ids: readonly string[]) {
  const { rows } = await selectStateVersion(actor, { ids }).execute(db)
  return shareAccess(rows)
}

type Key = { id: InSql } | { ids: readonly string[] } | { currentOf: InSql }

function selectStateVersion(actor: ActorInSql, key: Key) {
  const source =
    'currentOf' in key
      ? sql`workspaces w join state_versions sv on sv.id = w.current_state_version_id
            join organizations og on og.id = w.organization_id where w.id = ${key.currentOf}`
      : sql`state_versions sv join workspaces w on w.id = sv.workspace_id
            join organizations og on og.id = w.organization_id
            where ${'id' in key ? sql`sv.id = ${key.id}` : sql`sv.id = any(${key.ids})`}`
  const access = 'ids' in key ? sharedAccessColumn(actor) : workspaceAccessColumn(actor)
  return sql<FoundStateVersion>`
    select ${PRESENTED}, w.organization_id, w.name as workspace_name, w.repository_id,
           w.current_state_version_id, og.plan, ${access} as access
      from ${source}`
}

const findForUserById = lookup(['userId', 'id'], (_, { userId, id }) => selectStateVersion(userInSql(userId), { id }))
const findForUserByWorkspace = lookup(['userId', 'currentOf'], (_, { userId, currentOf }) =>
  selectStateVersion(userInSql(userId), { currentOf }),
)

/** A version by id, for jobs and for callers that have authorised its workspace. */
export async function findVersion(db: Db, id: string): Promise<PresentedRow | undefined> {
  const { rows } = await sql<PresentedRow>`
    select ${PRESENTED} from state_versions sv where sv.id = ${id}`.execute(db)
  return rows[0]
}

type UploadRow = StateVersionRow &
  Pick<WorkspaceRow, 'state_revision' | 'pending_state_version_id' | 'locked_by_id' | 'organization_id'>

/** A version and the state of its workspace, for an upload. */
export const findUpload = lookup(
  ['id'],
  (_, { id }) => sql<UploadRow>`
    select ${COLUMNS}, w.organization_id, w.state_revision, w.pending_state_version_id, w.locked_by_id
      from state_versions sv join workspaces w on w.id = sv.workspace_id
     where sv.id = ${id}`,
)

export async function listStateVersions(
  db: Db,
  workspaceId: string,
  options: { page: Page; status: string | undefined },
): Promise<PresentedRow[]> {
  const status = options.status === undefined ? sql`` : sql`and status = ${options.status}`
  // An index-only scan finds the page, so that a deep one costs little more than the first.
  const { rows } = await sql<PresentedRow>`
    select ${PRESENTED}
      from (select revision from state_versions
             where workspace_id = ${workspaceId} ${status}
             order by revision desc limit ${options.page.size} offset ${pageOffset(options.page)}) page
      join state_versions sv on sv.workspace_id = ${workspaceId} and sv.revision = page.revision
     order by sv.revision desc`.execute(db)
  return rows
}

export async function countStateVersions(db: Db, workspaceId: string, status: string) {
  return countRows(db, sql`state_versions where workspace_id = ${workspaceId} and status = ${status}`)
}

export async function updateStateVersion(db: Db, id: string, changes: Updateable<Schema['state_versions']>) {
  await db.updateTable('state_versions').set(changes).where('id', '=', id).execute()
}

/** Makes the latest version of a workspace its current one. */
export async function promoteLatest(tx: Tx, workspaceId: string) {
  const promotion = sql`
    with w as (
      update workspaces w set
        state_revision = state_revision + 1,
        current_state_version_id = latest_state_version_id,
        resource_count = sv.resource_count,
        state_providers = ${otherProviders(sql`sv.providers`)},
        latest_change_at = sv.created_at
      from state_versions sv
      where w.id = ${workspaceId} and sv.id = w.latest_state_version_id
        and w.latest_state_version_id is distinct from w.current_state_version_id
      returning w.current_state_version_id as id
    )
    update state_versions sv set intermediate = false from w where sv.id = w.id`
  await deferWrite(tx, promotion)
}

/** Discards the pending version of a workspace, unless the current lock holder created it. */
export async function discardPendingVersion(tx: Tx, workspaceId: string) {
  const discarding = sql`
    with abandoned as (
      select w.id as workspace_id, sv.id
        from workspaces w join state_versions sv on sv.id = w.pending_state_version_id
       where w.id = ${workspaceId} and w.locked_by_id is distinct from sv.lock_holder_id
    ), w as (
      update workspaces w set state_revision = state_revision + 1, pending_state_version_id = null
        from abandoned where w.id = abandoned.workspace_id
    )
    update state_versions sv set status = 'discarded' from abandoned where sv.id = abandoned.id`
  await deferWrite(tx, discarding)
}

export async function lockWorkspaceOf(tx: Tx, id: string) {
  const { rows } = await sql<
    Pick<WorkspaceRow, 'id' | 'organization_id' | 'current_state_version_id' | 'latest_state_version_id'>
  >`
    select id, organization_id, current_state_version_id, latest_state_version_id from workspaces
     where id = (select workspace_id from state_versions where id = ${id})
       for update`.execute(tx)
  return rows[0]
}

export async function isRunOf(db: Db, runId: string, workspaceId: string) {
  const { rows } = await sql`select from runs where id = ${runId} and workspace_id = ${workspaceId}`.execute(db)
  return rows.length > 0
}

export async function findRunStatus(db: Db, runId: string) {
  const row = await db.selectFrom('runs').select('status').where('id', '=', runId).executeTakeFirst()
  return row?.status
}

/** The newest finalized version before `revision`. */
export async function findVersionBefore(db: Db, workspaceId: string, revision: number) {
  const { rows } = await sql<PresentedRow>`
    select ${PRESENTED}
      from state_versions sv
     where sv.workspace_id = ${workspaceId} and sv.status = 'finalized' and sv.revision < ${revision}
     order by sv.revision desc limit 1`.execute(db)
  return rows[0]
}

export async function findHighestSerial(db: Db, workspaceId: string) {
  const { rows } = await sql<{ serial: number | null }>`
    select max(serial) as serial from state_versions where workspace_id = ${workspaceId}`.execute(db)
  return rows[0]?.serial ?? 0
}

/** Deletes the content of a version and all derived data; its metadata stays. */
export async function purgeStateVersion(tx: Tx, id: string) {
  await tx.deleteFrom('state_contents').where('state_version_id', '=', id).execute()
  await tx.deleteFrom('state_version_outputs').where('state_version_id', '=', id).execute()
  await sql`delete from state_diffs where to_id = ${id} or from_id = ${id}`.execute(tx)
  await updateStateVersion(tx, id, {
    status: 'backing_data_permanently_deleted',
    raw_location: null,
    json_location: null,
    instances: null,
    purge_at: null,
  })
}

export async function listPurgeable(db: Db, now: Date, limit: number) {
  return db
    .selectFrom('state_versions')
    .select('id')
    .where('status', '=', 'backing_data_soft_deleted')
    .where('purge_at', '<=', now)
    .orderBy('purge_at')
    .limit(limit)
    .execute()
}
