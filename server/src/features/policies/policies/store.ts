import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type PolicyRow = Selectable<Schema['policies']> & { organization_name: string; policy_set_ids: string[] }

function selectPolicies(db: Db) {
  return db
    .selectFrom('policies as p')
    .innerJoin('organizations as o', 'o.id', 'p.organization_id')
    .selectAll('p')
    .select([
      'o.name as organization_name',
      sql<string[]>`array(select x.policy_set_id from policy_set_policies x where x.policy_id = p.id order by 1)`.as(
        'policy_set_ids',
      ),
    ])
}

export async function findPolicies(db: Db, ids: readonly string[]) {
  return selectPolicies(db)
    .where(sql<boolean>`p.id = any(${ids})`)
    .orderBy('p.name')
    .execute()
}

type ListPolicies = { page: Page; search: string | undefined; kind: string | undefined }

export async function listPolicies(db: Db, organizationId: string, { page, search, kind }: ListPolicies) {
  const where = sql<boolean>`p.organization_id = ${organizationId}
    ${search === undefined ? sql`` : sql`and p.name ilike ${containing(search)}`}
    ${kind === undefined ? sql`` : sql`and p.kind = ${kind}`}`
  const list = selectPolicies(db).where(where).orderBy('p.name').orderBy('p.id')
  return readPaged(page, list, db.selectFrom('policies as p').where(where))
}

export async function insertPolicy(db: Db, row: Insertable<Schema['policies']>) {
  await db.insertInto('policies').values(row).execute()
}

export async function updatePolicy(db: Db, id: string, changes: Updateable<Schema['policies']>) {
  await db.updateTable('policies').set(changes).where('id', '=', id).execute()
}

export async function deletePolicy(db: Db, id: string) {
  await db.deleteFrom('policies').where('id', '=', id).execute()
}

/** Replaces the code of a policy. */
export async function putSource(
  tx: Tx,
  { id, code, digest, now }: { id: string; code: string; digest: string; now: Date },
) {
  const updated = await tx
    .updateTable('policies')
    .set({ digest, updated_at: now })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  if (!updated) return false
  await tx
    .insertInto('policy_sources')
    .values({ policy_id: id, code })
    .onConflict((conflict) => conflict.column('policy_id').doUpdateSet({ code }))
    .execute()
  return true
}

export async function findSource(db: Db, id: string) {
  const row = await db.selectFrom('policy_sources').select('code').where('policy_id', '=', id).executeTakeFirst()
  return row?.code
}
