import { type Insertable, type Selectable, sql } from 'kysely'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** A key with the name of its organization, which is its namespace. */
export type GpgKeyRow = Selectable<Schema['gpg_keys']> & { namespace: string }

function selectKeys(db: Db) {
  return db
    .selectFrom('gpg_keys as k')
    .innerJoin('organizations as o', 'o.id', 'k.organization_id')
    .selectAll('k')
    .select('o.name as namespace')
}

/** Ids of keys are found whatever their case. */
export async function findGpgKey(db: Db, organizationId: string, keyId: string): Promise<GpgKeyRow | undefined> {
  const id = keyId.toUpperCase()
  return selectKeys(db).where('k.organization_id', '=', organizationId).where('k.key_id', '=', id).executeTakeFirst()
}

export async function listGpgKeys(db: Db, organizationIds: readonly string[], page: Page) {
  const within = sql<boolean>`k.organization_id = any(${organizationIds})`
  const list = selectKeys(db).where(within).orderBy('k.created_at').orderBy('k.id')
  const rows: GpgKeyRow[] = await list.limit(page.size).offset(pageOffset(page)).execute()
  const count = db
    .selectFrom('gpg_keys as k')
    .where(within)
    .select(sql<number>`count(*)`.as('total'))
  return { rows, total: (await count.executeTakeFirstOrThrow()).total }
}

export async function insertGpgKey(db: Db, row: Insertable<Schema['gpg_keys']>) {
  await db.insertInto('gpg_keys').values(row).execute()
}

export async function moveGpgKey(db: Db, id: string, change: { organization_id: string; updated_at: Date }) {
  await db.updateTable('gpg_keys').set(change).where('id', '=', id).execute()
}

export async function deleteGpgKey(db: Db, id: string) {
  await db.deleteFrom('gpg_keys').where('id', '=', id).execute()
}

/** The first versions of providers that name a key, as `name 1.2.0`. */
export async function listSignedVersions(db: Db, key: { organization_id: string; key_id: string }) {
  const rows = await db
    .selectFrom('registry_provider_versions as v')
    .innerJoin('registry_providers as p', 'p.id', 'v.registry_provider_id')
    .select(['p.name', 'v.version'])
    .where('p.organization_id', '=', key.organization_id)
    .where(sql<boolean>`upper(v.key_id) = ${key.key_id}`)
    .orderBy('v.created_at')
    .limit(11)
    .execute()
  return rows.map(({ name, version }) => `${name} ${version}`)
}
