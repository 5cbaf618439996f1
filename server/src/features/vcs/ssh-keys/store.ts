import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type SshKeyRow = Omit<Selectable<Schema['ssh_keys']>, 'value'>

/** Everything but the key itself, which only jobs read. */
const SHOWN = ['id', 'organization_id', 'name', 'created_at'] as const

export async function findSshKey(db: Db, id: string): Promise<SshKeyRow | undefined> {
  return db.selectFrom('ssh_keys').select(SHOWN).where('id', '=', id).executeTakeFirst()
}

export async function listSshKeys(db: Db, organizationId: string, page: Page) {
  const all = db.selectFrom('ssh_keys').where('organization_id', '=', organizationId)
  return readPaged(page, all.select(SHOWN).orderBy('name').orderBy('id'), all)
}

export async function insertSshKey(db: Db, row: Insertable<Schema['ssh_keys']>): Promise<SshKeyRow> {
  return db.insertInto('ssh_keys').values(row).returning(SHOWN).executeTakeFirstOrThrow()
}

export async function updateSshKey(db: Db, id: string, changes: Updateable<Schema['ssh_keys']>): Promise<SshKeyRow> {
  return db.updateTable('ssh_keys').set(changes).where('id', '=', id).returning(SHOWN).executeTakeFirstOrThrow()
}

export async function deleteSshKey(db: Db, id: string) {
  await db.deleteFrom('ssh_keys').where('id', '=', id).execute()
}
