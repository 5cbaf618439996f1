import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type KeyRow = Selectable<Schema['identity_keys']>

/** Makes concurrent changes wait, also that of the first key, for which there is no row to lock. Readers do not wait. */
export async function lockIdentityKeys(tx: Tx) {
  await sql`lock table identity_keys in share row exclusive mode`.execute(tx)
}

export async function listIdentityKeys(db: Db): Promise<KeyRow[]> {
  return db.selectFrom('identity_keys').selectAll().orderBy('created_at', 'desc').orderBy('id').execute()
}

export async function insertIdentityKey(tx: Tx, row: KeyRow) {
  await tx.insertInto('identity_keys').values(row).execute()
}

export async function updateActivation(tx: Tx, id: string, activatesAt: Date | null) {
  await tx.updateTable('identity_keys').set({ activates_at: activatesAt }).where('id', '=', id).execute()
}

/** Lengthens the time for which keys stay published after they have signed. */
export async function raiseTokenLifetime(db: Db, lifetimeMs: number) {
  await db
    .updateTable('identity_keys')
    .set({ token_lifetime_ms: lifetimeMs })
    .where('token_lifetime_ms', '<', lifetimeMs)
    .execute()
}

export async function findIssuer(db: Db) {
  return db.selectFrom('identity_issuer').select(['url', 'is_external']).executeTakeFirst()
}

export async function upsertIssuer(tx: Tx, issuer: { url: string; is_external: boolean }) {
  await tx
    .insertInto('identity_issuer')
    .values({ is_only: true, ...issuer })
    .onConflict((conflict) => conflict.column('is_only').doUpdateSet(issuer))
    .execute()
}

export async function deleteIdentityKeys(tx: Tx, ids: readonly string[]) {
  await tx
    .deleteFrom('identity_keys')
    .where(sql<boolean>`id = any(${ids})`)
    .execute()
}
