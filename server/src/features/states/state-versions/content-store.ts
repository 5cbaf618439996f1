import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { StateVersionRow } from './store.ts'

export type ContentLocations = Pick<StateVersionRow, 'id' | 'raw_location' | 'json_location'> & {
  size?: number | null
  /** The sealed content, if it was read in the same query. */
  sealed?: Buffer | null
}

export async function findContent(db: Db, id: string, kind: 'raw' | 'json') {
  const query = db.selectFrom('state_contents').select('sealed').where('state_version_id', '=', id)
  return (await query.where('kind', '=', kind).executeTakeFirst())?.sealed
}

type Download = Pick<StateVersionRow, 'id' | 'status' | 'size' | 'raw_location' | 'json_location'> & {
  sealed: Buffer | null
}

/** The location of a version's content for a download, or the content itself if it is stored in a row. */
export const findDownload = lookup(
  ['id', 'kind'],
  (_, { id, kind }) => sql<Download>`
    select sv.id, sv.status, sv.size, sv.raw_location, sv.json_location, c.sealed
      from state_versions sv left join state_contents c on c.state_version_id = sv.id and c.kind = ${kind}
     where sv.id = ${id}`,
)

/** Adds the JSON state to a version; returns false if the version does not await it. */
export async function addJsonContent(db: Db, id: string, location: string, sealed: Buffer | undefined) {
  const { rows } = await sql`
    with sv as (
      update state_versions set json_location = ${location}, awaits_json = false
       where id = ${id} and awaits_json and status in ('pending', 'finalized')
      returning id
    ), contents as (
      insert into state_contents (state_version_id, kind, sealed)
      select id, 'json', ${sealed ?? null}::bytea from sv where ${sealed !== undefined}::boolean
    )
    select id from sv`.execute(db)
  return rows.length > 0
}

export async function findNamedLocations(db: Db, ids: readonly string[]) {
  const { rows } = await sql<{ location: string }>`
    select location from state_versions sv, unnest(array[sv.raw_location, sv.json_location]) location
     where sv.id = any(${ids}) and sv.status <> 'discarded' and location is not null`.execute(db)
  return new Set(rows.map((row) => row.location))
}

/** Deletes the content in rows of discarded versions. */
export async function deleteDiscardedContents(db: Db) {
  await sql`
    delete from state_contents c using state_versions sv
     where sv.id = c.state_version_id and sv.status = 'discarded'`.execute(db)
}

export type Sampled = ContentLocations & { workspace_id: string; size: number; md5: string }

/** Finalized versions from a random id on; continues at the lowest id if too few follow. */
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
  const query = db.selectFrom('state_versions').select('id').where('id', '=', id)
  return (await query.where('status', '=', 'finalized').executeTakeFirst()) !== undefined
}

type ContentCheck = { at: Date; checked: number; damaged: readonly { id: string; reason: string }[] }

export async function insertCheck(db: Db, { at, checked, damaged }: ContentCheck) {
  const row = { checked_at: at, checked, damaged: JSON.stringify(damaged) }
  await db.insertInto('content_checks').values(row).execute()
}
