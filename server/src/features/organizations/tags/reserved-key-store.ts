import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type ReservedTagKeyRow = Selectable<Schema['reserved_tag_keys']>

export async function findReservedTagKey(db: Db, id: string) {
  return db.selectFrom('reserved_tag_keys').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function listReservedTagKeys(
  db: Db,
  organizationId: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const all = db.selectFrom('reserved_tag_keys').where('organization_id', '=', organizationId)
  const [rows, count] = await Promise.all([
    all.selectAll().orderBy('key').limit(limit).offset(offset).execute(),
    all.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.total }
}

export async function insertReservedTagKey(db: Db, row: Insertable<Schema['reserved_tag_keys']>) {
  return db.insertInto('reserved_tag_keys').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateReservedTagKey(db: Db, id: string, changes: Updateable<Schema['reserved_tag_keys']>) {
  return db.updateTable('reserved_tag_keys').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

export async function deleteReservedTagKey(db: Db, id: string) {
  await db.deleteFrom('reserved_tag_keys').where('id', '=', id).execute()
}
