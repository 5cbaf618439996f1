import type { Insertable } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export async function insertUser(db: Db, row: Insertable<Schema['users']>) {
  return db.insertInto('users').values(row).returningAll().executeTakeFirstOrThrow()
}
