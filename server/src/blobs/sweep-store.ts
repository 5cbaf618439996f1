import type { Db } from '../db/db.ts'

/** Position at which the sweep of a prefix was interrupted; undefined if it completed. */
export async function findSweepCursor(db: Db, prefix: string): Promise<string | undefined> {
  const row = await db.selectFrom('blob_sweeps').select('cursor').where('prefix', '=', prefix).executeTakeFirst()
  return row?.cursor
}

export async function saveSweepCursor(db: Db, prefix: string, { cursor, now }: { cursor: string; now: Date }) {
  await db
    .insertInto('blob_sweeps')
    .values({ prefix, cursor, updated_at: now })
    .onConflict((conflict) => conflict.column('prefix').doUpdateSet({ cursor, updated_at: now }))
    .execute()
}

export async function deleteSweepCursor(db: Db, prefix: string) {
  await db.deleteFrom('blob_sweeps').where('prefix', '=', prefix).execute()
}
