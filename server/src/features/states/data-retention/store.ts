import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type PolicyRow = Selectable<Schema['data_retention_policies']>
export type PolicyTarget = { organizationId: string } | { workspaceId: string }

function column(target: PolicyTarget) {
  return 'organizationId' in target
    ? ({ name: 'organization_id', id: target.organizationId } as const)
    : ({ name: 'workspace_id', id: target.workspaceId } as const)
}

export async function findPolicy(db: Db, target: PolicyTarget) {
  const { name, id } = column(target)
  return db.selectFrom('data_retention_policies').selectAll().where(name, '=', id).executeTakeFirst()
}

/** Creates the target's policy or changes it; `created` says which. */
export async function upsertPolicy(
  db: Db,
  target: PolicyTarget,
  policy: { id: string; deleteOlderThanDays: number | null; now: Date },
): Promise<{ row: PolicyRow; created: boolean }> {
  const { name, id } = column(target)
  const { rows } = await sql<PolicyRow>`
    insert into data_retention_policies (id, ${sql.ref(name)}, delete_older_than_days, created_at, updated_at)
    values (${policy.id}, ${id}, ${policy.deleteOlderThanDays}, ${policy.now}, ${policy.now})
    on conflict (${sql.ref(name)}) where ${sql.ref(name)} is not null
    do update set delete_older_than_days = excluded.delete_older_than_days, updated_at = excluded.updated_at
    returning *`.execute(db)
  const [row] = rows
  if (!row) throw new Error('an upsert returned no row')
  return { row, created: row.id === policy.id }
}

export async function deletePolicy(db: Db, target: PolicyTarget) {
  const { name, id } = column(target)
  return db.deleteFrom('data_retention_policies').where(name, '=', id).returningAll().executeTakeFirst()
}

/** Workspaces where a policy deletes: their own one, else the organization's. */
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
