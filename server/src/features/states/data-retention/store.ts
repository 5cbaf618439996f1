import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { ContentLocations } from '../state-versions/content-store.ts'

export type PolicyRow = Selectable<Schema['data_retention_policies']>
/** The column of a policy's owner, and the owner's id. */
type PolicyKey = { column: 'organization_id' | 'workspace_id'; id: string }

export async function findPolicy(db: Db, { column, id }: PolicyKey) {
  return db.selectFrom('data_retention_policies').selectAll().where(column, '=', id).executeTakeFirst()
}

type NewPolicy = { id: string; deleteOlderThanDays: number | null; now: Date }

export async function upsertPolicy(db: Db, { column, id }: PolicyKey, policy: NewPolicy) {
  const { rows } = await sql<PolicyRow>`
    insert into data_retention_policies (id, ${sql.ref(column)}, delete_older_than_days, created_at, updated_at)
    values (${policy.id}, ${id}, ${policy.deleteOlderThanDays}, ${policy.now}, ${policy.now})
    on conflict (${sql.ref(column)}) where ${sql.ref(column)} is not null
    do update set delete_older_than_days = excluded.delete_older_than_days, updated_at = excluded.updated_at
    returning *`.execute(db)
  const [row] = rows
  if (!row) throw new Error('an upsert returned no row')
  return { row, isNew: row.id === policy.id }
}

export async function deletePolicy(db: Db, { column, id }: PolicyKey) {
  return db.deleteFrom('data_retention_policies').where(column, '=', id).returningAll().executeTakeFirst()
}

/** Workspaces whose effective policy deletes versions: their own, else the organization's. */
export async function listDeletingWorkspaces(db: Db, page: { after: string; limit: number }) {
  const { rows } = await sql<{ id: string; days: number }>`
    select w.id, p.delete_older_than_days as days
      from workspaces w
      join lateral (
        select delete_older_than_days from data_retention_policies
         where workspace_id = w.id or organization_id = w.organization_id
         order by workspace_id is null limit 1) p on p.delete_older_than_days is not null
     where w.id > ${page.after}
     order by w.id limit ${page.limit}`.execute(db)
  return rows
}

export async function listFreeOrganizations(db: Db) {
  return db.selectFrom('organizations').select('id').where('plan', '=', 'free').orderBy('id').execute()
}

type DeletedVersion = { id: string; workspace_id: string; organization_id: string }
type SoftDeletion = { before: Date; now: Date; purgeAt: Date }

/** Soft-deletes and returns the versions of a workspace created before a time, except the current and the latest one. */
export async function softDeleteBefore(db: Db, workspaceId: string, { before, now, purgeAt }: SoftDeletion) {
  // The row lock keeps the current version from changing.
  const { rows } = await sql<DeletedVersion>`
    with w as (
      select id, organization_id, current_state_version_id, latest_state_version_id from workspaces where id = ${workspaceId} for update
    )
    update state_versions sv set status = 'backing_data_soft_deleted', soft_deleted_at = ${now}, purge_at = ${purgeAt}
      from w
     where sv.workspace_id = w.id and sv.status = 'finalized' and sv.created_at < ${before}
       and sv.id is distinct from w.current_state_version_id and sv.id is distinct from w.latest_state_version_id
    returning sv.id, sv.workspace_id, w.organization_id`.execute(db)
  return rows
}

type Limits = { kept: number; months: number; now: Date; limit: number }

/** Deletes the oldest states beyond the newest `kept`, older than `months`, and not the newest of their workspace. */
export async function deleteBeyond(tx: Tx, organizationId: string, { kept, months, now, limit }: Limits) {
  // If one becomes current concurrently, a foreign key rejects the deletion, and the job runs again.
  const { rows } = await sql<ContentLocations & DeletedVersion>`
    with states as (
      select sv.id, sv.workspace_id, sv.created_at,
             row_number() over (order by sv.created_at desc, sv.id desc) as rank,
             row_number() over (partition by sv.workspace_id order by sv.revision desc) as rank_in_workspace
        from state_versions sv join workspaces w on w.id = sv.workspace_id
       where w.organization_id = ${organizationId} and sv.status = 'finalized'
    ), beyond as (
      select s.id from states s join workspaces w on w.id = s.workspace_id
       where s.rank > ${kept} and s.rank_in_workspace > 1
         and s.created_at < ${now}::timestamptz - make_interval(months => ${months}::int)
         and s.id is distinct from w.current_state_version_id and s.id is distinct from w.latest_state_version_id
       order by s.created_at limit ${limit}
    ), deleted as (
      delete from state_versions sv using beyond where sv.id = beyond.id
      returning sv.id, sv.workspace_id, sv.raw_location, sv.json_location
    ), counted as (
      update workspaces w set state_version_count = state_version_count - d.count, state_revision = state_revision + 1
        from (select workspace_id, count(*)::int as count from deleted group by workspace_id) d
       where w.id = d.workspace_id
    )
    select id, workspace_id, ${organizationId}::text as organization_id, raw_location, json_location from deleted`.execute(
    tx,
  )
  return rows
}
