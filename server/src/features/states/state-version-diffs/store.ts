import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** A null `fromId` is the empty state before the first version. */
type DiffKey = { fromId: string | null; toId: string; revision: number }

/** A cached comparison, sealed. */
export async function findDiff(db: Db, { fromId, toId, revision }: DiffKey) {
  const { rows } = await sql<{ sealed: Buffer }>`select sealed from state_diffs
     where to_id = ${toId} and from_id is not distinct from ${fromId} and revision = ${revision}`.execute(db)
  return rows[0]?.sealed
}

export async function insertDiff(db: Db, diff: DiffKey & { sealed: Buffer; now: Date }) {
  await sql`
    insert into state_diffs (from_id, to_id, revision, sealed, created_at)
    values (${diff.fromId}, ${diff.toId}, ${diff.revision}, ${diff.sealed}, ${diff.now})
    on conflict (to_id, from_id) do update set revision = excluded.revision, sealed = excluded.sealed`.execute(db)
}
