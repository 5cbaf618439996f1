import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type AuditEventRow = Selectable<Schema['audit_events']>

/** A page of the events of one organization, or of the whole server, newest first. */
export async function listEvents(
  db: Db,
  query: { organizationId: string | undefined; since: Date | undefined },
  page: Page,
) {
  let events = db.selectFrom('audit_events')
  if (query.organizationId !== undefined) events = events.where('organization_id', '=', query.organizationId)
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

/** Deletes at most `limit` of the events before a moment. Returns how many. */
export async function deleteEventsBefore(db: Db, before: Date, limit: number) {
  const result = await db
    .deleteFrom('audit_events')
    .where('id', 'in', sql<string>`(select id from audit_events where created_at < ${before} limit ${limit})`)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
