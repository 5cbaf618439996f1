import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'
import { type Page, pageOffset } from '../../http/pagination.ts'

export type AuditEventRow = Selectable<Schema['audit_events']>

export async function insertEvent(tx: Tx, row: Insertable<Schema['audit_events']>) {
  await tx.insertInto('audit_events').values(row).execute()
}

/** One page of the events of an organization, newest first, and how many there are. */
export async function listEvents(db: Db, query: { organizationId: string; since: Date | undefined }, page: Page) {
  let events = db.selectFrom('audit_events').where('organization_id', '=', query.organizationId)
  if (query.since !== undefined) events = events.where('created_at', '>', query.since)
  const [rows, count] = await Promise.all([
    events
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(page.size)
      .offset(pageOffset(page))
      .execute(),
    events.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.total }
}

/** Deletes some of the events from before a moment; returns how many. */
export async function deleteEventsBefore(db: Db, before: Date, limit: number) {
  const result = await db
    .deleteFrom('audit_events')
    .where('id', 'in', sql<string>`(select id from audit_events where created_at < ${before} limit ${limit})`)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
