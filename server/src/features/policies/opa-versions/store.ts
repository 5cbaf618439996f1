import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, insertRows } from '../../../db/sql.ts'

type Arch = Pick<Selectable<Schema['opa_version_archs']>, 'os' | 'arch' | 'url' | 'sha'>
type User = { organization: string; set: string }
export type OpaVersionRow = Selectable<Schema['opa_versions']> & { archs: Arch[]; usage: number; users: User[] }

/** Policy sets named by a version; the others are counted. */
const MAX_USERS = 10

function selectWithArchs(db: Db) {
  return db
    .selectFrom('opa_versions as v')
    .selectAll('v')
    .select(
      sql<Arch[]>`coalesce((select jsonb_agg(jsonb_build_object('os', a.os, 'arch', a.arch, 'url', a.url, 'sha', a.sha)
        order by a.os desc, a.arch) from opa_version_archs a where a.opa_version_id = v.id), '[]')`.as('archs'),
    )
}

function selectOpaVersions(db: Db) {
  return selectWithArchs(db).select([
    sql<number>`(select count(*) from policy_sets s where s.policy_tool_version = v.version)`.as('usage'),
    sql<User[]>`coalesce((select jsonb_agg(jsonb_build_object('organization', u.organization, 'set', u.name)
          order by u.organization, u.name)
        from (select o.name as organization, s.name from policy_sets s join organizations o on o.id = s.organization_id
          where s.policy_tool_version = v.version order by o.name, s.name limit ${sql.lit(MAX_USERS)}) u), '[]')`.as(
      'users',
    ),
  ])
}

type Filter = { version: string | undefined; search: string | undefined }

export async function listOpaVersions(db: Db, { version, search }: Filter, page: Page) {
  const where = sql<boolean>`(${version ?? null}::text is null or v.version = ${version ?? null})
    and (${search ?? null}::text is null or v.version ilike ${containing(search ?? '')})`
  const list = selectOpaVersions(db).where(where).orderBy('v.created_at', 'desc').orderBy('v.id')
  return readPaged(page, list, db.selectFrom('opa_versions as v').where(where))
}

export async function findOpaVersion(db: Db, id: string) {
  return selectOpaVersions(db).where('v.id', '=', id).executeTakeFirst()
}

/** The enabled versions, in no order. */
export async function listEnabledVersions(db: Db) {
  return selectWithArchs(db).where('v.enabled', '=', sql.lit(true)).execute()
}

/** The number of policy sets that are evaluated by the latest version. */
export async function countLatestUsers(db: Db) {
  const { rows } = await sql<{ count: number }>`
    select count(*) from policy_sets where policy_tool_version = 'latest'`.execute(db)
  return rows[0]?.count ?? 0
}

export async function insertOpaVersion(db: Db, row: Insertable<Schema['opa_versions']>) {
  await db.insertInto('opa_versions').values(row).execute()
}

export async function updateOpaVersion(db: Db, id: string, changes: Updateable<Schema['opa_versions']>) {
  await db.updateTable('opa_versions').set(changes).where('id', '=', id).execute()
}

export async function replaceArchs(tx: Tx, id: string, archs: readonly Arch[]) {
  await tx.deleteFrom('opa_version_archs').where('opa_version_id', '=', id).execute()
  if (archs.length === 0) return
  await insertRows(
    tx,
    'opa_version_archs',
    archs.map((arch) => ({ opa_version_id: id, ...arch })),
  ).execute()
}

export async function deleteOpaVersion(db: Db, id: string) {
  await db.deleteFrom('opa_versions').where('id', '=', id).execute()
}
