import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** A cached comparison, sealed; a null `fromId` means the empty state before the first. */
export async function findDiff(db: Db, key: { fromId: string | null; toId: string; revision: number }) {
  const { rows } = await sql<{ sealed: Buffer }>`
    select sealed from state_diffs
     where to_id = ${key.toId} and from_id is not distinct from ${key.fromId} and revision = ${key.revision}`.execute(
    db,
  )
  return rows[0]?.sealed
}

export async function insertDiff(
  db: Db,
  diff: { fromId: string | null; toId: string; revision: number; sealed: Buffer; now: Date },
) {
  await sql`
    insert into state_diffs (from_id, to_id, revision, sealed, created_at)
    values (${diff.fromId}, ${diff.toId}, ${diff.revision}, ${diff.sealed}, ${diff.now})
    on conflict (to_id, from_id) do update set revision = excluded.revision, sealed = excluded.sealed`.execute(db)
}
