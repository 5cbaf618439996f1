import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type ParameterRow = Selectable<Schema['policy_set_parameters']>

export async function listParameters(db: Db, setId: string, page: Page) {
  const all = db.selectFrom('policy_set_parameters').where('policy_set_id', '=', setId)
  return readPaged(page, all.selectAll().orderBy('created_at').orderBy('id'), all)
}

export async function listParametersOfSets(db: Db, setIds: readonly string[]) {
  return db
    .selectFrom('policy_set_parameters')
    .selectAll()
    .where(sql<boolean>`policy_set_id = any(${setIds})`)
    .execute()
}

export async function findParameter(db: Db, setId: string, id: string) {
  return db
    .selectFrom('policy_set_parameters')
    .selectAll()
    .where('policy_set_id', '=', setId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function insertParameter(db: Db, row: Insertable<Schema['policy_set_parameters']>) {
  await db.insertInto('policy_set_parameters').values(row).execute()
}

export async function updateParameter(db: Db, id: string, changes: Updateable<Schema['policy_set_parameters']>) {
  await db.updateTable('policy_set_parameters').set(changes).where('id', '=', id).execute()
}

export async function deleteParameter(db: Db, id: string) {
  await db.deleteFrom('policy_set_parameters').where('id', '=', id).execute()
}
