import { sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'

/** Any number that nothing else locks in this database. */
const SITE_ADMINS_LOCK = 7_077_002

/** Orders everything that could leave the site without an administrator, or make two first ones. */
export async function lockSiteAdmins(tx: Tx) {
  await sql`select pg_advisory_xact_lock(${sql.lit(SITE_ADMINS_LOCK)})`.execute(tx)
}

export async function findFirstSiteAdmin(db: Db) {
  return db
    .selectFrom('users')
    .selectAll()
    .where('is_site_admin', '=', true)
    .where('suspended_at', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
}
