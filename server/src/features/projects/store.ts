import type { Insertable } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export async function insertProject(db: Db, row: Insertable<Schema['projects']>) {
  return db.insertInto('projects').values(row).returningAll().executeTakeFirstOrThrow()
}
