import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows } from '../../../db/sql.ts'

type Row = Selectable<Schema['policy_set_versions']>
export type VersionPolicy = Pick<
  Selectable<Schema['policy_set_version_policies']>,
  'name' | 'query' | 'enforcement_level' | 'description'
>
export type VersionRow = Row & { organization_id: string; set_name: string; policies: VersionPolicy[] }

function selectVersions(db: Db) {
  return db
    .selectFrom('policy_set_versions as v')
    .innerJoin('policy_sets as s', 's.id', 'v.policy_set_id')
    .selectAll('v')
    .select(['s.organization_id', 's.name as set_name'])
    .select(
      sql<VersionPolicy[]>`coalesce((select jsonb_agg(jsonb_build_object('name', p.name, 'query', p.query,
        'enforcement_level', p.enforcement_level, 'description', p.description) order by p.position)
        from policy_set_version_policies p where p.policy_set_version_id = v.id), '[]')`.as('policies'),
    )
}

export async function findVersions(db: Db, ids: readonly string[]): Promise<VersionRow[]> {
  return selectVersions(db)
    .where(sql<boolean>`v.id = any(${ids})`)
    .orderBy('v.id')
    .execute()
}

/** The versions of a set, the newest first. */
export async function listVersions(db: Db, setId: string, page: Page) {
  const list = selectVersions(db).where('v.policy_set_id', '=', setId).orderBy('v.seq', 'desc')
  return readPaged(page, list, db.selectFrom('policy_set_versions as v').where('v.policy_set_id', '=', setId))
}

export async function insertVersion(db: Db, row: Insertable<Schema['policy_set_versions']>) {
  await db.insertInto('policy_set_versions').values(row).execute()
}

type Transition = {
  from: readonly Row['status'][]
  to: Row['status']
  now: Date
  changes?: Updateable<Schema['policy_set_versions']>
}

/** False if the version has another status than `from`. */
export async function updateStatus(db: Db, id: string, { from, to, now, changes = {} }: Transition) {
  const stamp = JSON.stringify({ [to]: now.toISOString() })
  const row = await db
    .updateTable('policy_set_versions')
    .set({ ...changes, status: to, updated_at: now })
    .set('status_timestamps', sql`status_timestamps || ${stamp}::jsonb`)
    .where('id', '=', id)
    .where(sql<boolean>`status = any(${from})`)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export async function insertPolicies(tx: Tx, versionId: string, policies: readonly VersionPolicy[]) {
  const rows = policies.map((policy, position) => ({ policy_set_version_id: versionId, position, ...policy }))
  await insertRows(tx, 'policy_set_version_policies', rows).execute()
}

/** Makes a version current, unless a newer one already is. */
export async function setCurrentVersion(tx: Tx, { id, setId, now }: { id: string; setId: string; now: Date }) {
  await sql`update policy_sets s set current_version_id = ${id}, is_versioned = true, updated_at = ${now}
     where s.id = ${setId} and not exists (select from policy_set_versions c, policy_set_versions v
       where c.policy_set_id = s.id and c.id = s.current_version_id and v.id = ${id} and c.seq > v.seq)`.execute(tx)
}

export async function countPolicies(db: Db, setId: string) {
  const { rows } = await sql<{ count: number }>`
    select count(*) from policy_set_policies where policy_set_id = ${setId}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Marks versions as errored whose archive was never uploaded, or whose upload was cut off by a crash. */
export async function failAbandoned(db: Db, { before, now, message }: { before: Date; now: Date; message: string }) {
  const stamp = JSON.stringify({ errored: now.toISOString() })
  const { numAffectedRows } = await sql`update policy_set_versions
    set status = 'errored', error = 'upload_expired', error_message = ${message}, updated_at = ${now},
        status_timestamps = status_timestamps || ${stamp}::jsonb
    where status in ('pending', 'ingressing') and created_at < ${before}`.execute(db)
  return Number(numAffectedRows ?? 0)
}

export type AttachedPolicy = VersionPolicy & { id: string; digest: string | null; code: string | null }

export async function listAttachedPolicies(db: Db, setId: string): Promise<AttachedPolicy[]> {
  return db
    .selectFrom('policy_set_policies as x')
    .innerJoin('policies as p', 'p.id', 'x.policy_id')
    .leftJoin('policy_sources as c', 'c.policy_id', 'p.id')
    .select(['p.id', 'p.name', 'p.query', 'p.enforcement_level', 'p.description', 'p.digest', 'c.code'])
    .where('x.policy_set_id', '=', setId)
    .orderBy('p.name')
    .execute()
}

export async function findSet(db: Db, id: string) {
  return db.selectFrom('policy_sets').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findBundle(db: Db, setId: string, digest: string) {
  return db
    .selectFrom('policy_set_bundles')
    .selectAll()
    .where('policy_set_id', '=', setId)
    .where('digest', '=', digest)
    .executeTakeFirst()
}

/** Returns whether the bundle is the first of its content. */
export async function insertBundle(db: Db, row: Insertable<Schema['policy_set_bundles']>) {
  const inserted = await db
    .insertInto('policy_set_bundles')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('digest')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Those of the keys that versions and bundles name. */
export async function findNamedKeys(db: Db, keys: readonly string[]) {
  const { rows } = await sql<{ blob_key: string }>`
    select blob_key from policy_set_versions where blob_key = any(${keys})
    union select blob_key from policy_set_bundles where blob_key = any(${keys})`.execute(db)
  return new Set(rows.map((row) => row.blob_key))
}
