import type { VCS_EVENT_LEVELS } from '@groundstate/contract/vcs-events'
import { type Insertable, sql } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type VcsEventFilter = {
  from: Date
  to: Date
  clientIds: readonly string[] | undefined
  levels: readonly (typeof VCS_EVENT_LEVELS)[number][] | undefined
}

type ListEvents = { organizationId: string; filter: VcsEventFilter; page: Page }

/** The newest first. */
export async function listVcsEvents(db: Db, { organizationId, filter, page }: ListEvents) {
  const { from, to, clientIds, levels } = filter
  const matches = sql<boolean>`e.organization_id = ${organizationId}
    and e.created_at >= ${from} and e.created_at <= ${to}
    ${clientIds === undefined ? sql`` : sql`and e.oauth_client_id = any(${clientIds})`}
    ${levels === undefined ? sql`` : sql`and e.level = any(${levels})`}`
  const all = db.selectFrom('vcs_events as e').where(matches)
  return readPaged(page, all.selectAll().orderBy('e.created_at', 'desc').orderBy('e.id'), all)
}

export async function insertVcsEvent(db: Db, row: Insertable<Schema['vcs_events']>) {
  await db.insertInto('vcs_events').values(row).execute()
}

/** Deletes the oldest events, at most `limit`. Returns how many. */
export async function deleteVcsEvents(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { numAffectedRows = 0n } = await sql`
    delete from vcs_events where id in (
      select id from vcs_events where created_at < ${before} order by created_at, id limit ${limit})`.execute(db)
  return Number(numAffectedRows)
}
