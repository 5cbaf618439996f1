import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Located } from './content.ts'

/** The keys of blobs that these versions name. */
export async function findNamedLocations(db: Db, ids: readonly string[]) {
  const { rows } = await sql<{ location: string }>`
    select location from state_versions sv, unnest(array[sv.raw_location, sv.json_location]) location
     where sv.id = any(${ids}) and sv.status <> 'discarded' and location is not null`.execute(db)
  return new Set(rows.map((row) => row.location))
}

/** What a superseded version had been given before it was superseded. */
export async function deleteDiscardedContents(db: Db) {
  await sql`
    delete from state_contents c using state_versions sv
     where sv.id = c.state_version_id and sv.status = 'discarded'`.execute(db)
}

export type Sampled = Located & { workspace_id: string; size: number; md5: string }

/** Versions that follow on a chance id, and as many from the beginning as are missing at the end. */
export async function sampleVersions(db: Db, from: string, limit: number): Promise<Sampled[]> {
  const page = (condition: ReturnType<typeof sql>, size: number) =>
    sql<Sampled>`
      select id, workspace_id, raw_location, json_location, size, md5 from state_versions
       where status = 'finalized' and ${condition} order by id limit ${size}`.execute(db)
  const { rows } = await page(sql`id >= ${from}`, limit)
  if (rows.length === limit) return rows
  return [...rows, ...(await page(sql`id < ${from}`, limit - rows.length)).rows]
}

export async function isFinalized(db: Db, id: string) {
  const row = await db
    .selectFrom('state_versions')
    .select('id')
    .where('id', '=', id)
    .where('status', '=', 'finalized')
    .executeTakeFirst()
  return row !== undefined
}

export async function insertCheck(
  db: Db,
  check: { at: Date; checked: number; damaged: readonly { id: string; reason: string }[] },
) {
  await db
    .insertInto('content_checks')
    .values({ checked_at: check.at, checked: check.checked, damaged: JSON.stringify(check.damaged) })
    .execute()
}
