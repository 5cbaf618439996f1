import type { Selectable } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { countEvents, type TrailQuery } from './days-store.ts'

export type AuditEventRow = Selectable<Schema['audit_events']>

/** A page of the events of one organization, or of the whole server, newest first. */
export async function listEvents(db: Db, query: TrailQuery, page: Page) {
  let events = db.selectFrom('audit_events')
  if (query.organizationId !== undefined) events = events.where('organization_id', '=', query.organizationId)
  if (query.since !== undefined) events = events.where('created_at', '>', query.since)
  const [rows, total] = await Promise.all([
    events
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(page.size)
      .offset(pageOffset(page))
      .execute(),
    countEvents(db, query),
  ])
  return { rows, total }
}
