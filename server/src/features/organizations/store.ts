import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Actor } from '../../auth/actor.ts'
import { factsColumn } from '../../auth/facts.ts'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export type OrganizationRow = Selectable<Schema['organizations']>

export async function findOrganization(db: Db, actor: Actor, key: { id: string } | { name: string }) {
  return db
    .selectFrom('organizations as o')
    .selectAll('o')
    .select(factsColumn(actor, { organizationId: sql`o.id` }).as('facts'))
    .where((eb) => ('id' in key ? eb('o.id', '=', key.id) : eb(sql`lower(o.name)`, '=', key.name.toLowerCase())))
    .executeTakeFirst()
}

export async function insertOrganization(db: Db, row: Insertable<Schema['organizations']>) {
  return db.insertInto('organizations').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateOrganization(db: Db, id: string, changes: Updateable<Schema['organizations']>) {
  return db.updateTable('organizations').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}
