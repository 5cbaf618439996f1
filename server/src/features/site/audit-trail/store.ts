import { type Selectable, sql } from 'kysely'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

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

/** Events of one organization, or of the whole server, after a moment or all of them. */
type TrailQuery = { organizationId: string | undefined; since: Date | undefined }

/** Midnights in UTC are this far apart, in ms. */
const DAY = 86_400_000
/** When events of a day are surely written, after its end. */
const LAG = 3_600_000

/** The moment up to which days are counted. Days without events have no row. */
const countedUntil = sql`(select coalesce(max(starts_at) + interval '24 hours', '-infinity') from audit_days where organization_id = '')`

/** Adds up the days that are counted, and counts what is before the first of them and after the last. */
async function countEvents(db: Db, { organizationId, since }: TrailQuery): Promise<number> {
  const own = organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`
  const midnight = since && new Date(Math.floor(since.getTime() / DAY + 1) * DAY)
  const days = sql`select sum(events)::bigint from audit_days
    where organization_id = ${organizationId ?? ''} ${midnight ? sql`and starts_at >= ${midnight}` : sql``}`
  const later = sql`select count(*) from audit_events
    where ${own} and created_at >= ${countedUntil} ${since ? sql`and created_at > ${since}` : sql``}`
  const first = sql`select count(*) from audit_events
    where ${own} and created_at > ${since} and created_at < least(${midnight}, ${countedUntil})`
  const { rows } = await sql<{ total: number }>`
    select coalesce((${days}), 0) + (${later}) ${since ? sql`+ (${first})` : sql``} as total`.execute(db)
  return rows[0]?.total ?? 0
}

/** Counts the days that are over and not counted yet. */
export async function insertDays(tx: Tx, now: Date) {
  await lockDays(tx)
  const until = new Date(Math.floor((now.getTime() - LAG) / DAY) * DAY)
  await sql`
    insert into audit_days (organization_id, starts_at, events)
    select case grouping(organization_id) when 1 then '' else organization_id end, day, count(*)
      from (select organization_id, date_trunc('day', created_at, 'UTC') as day
              from audit_events where created_at >= ${countedUntil} and created_at < ${until}) counted
     group by grouping sets ((organization_id, day), (day))
    having grouping(organization_id) = 1 or organization_id is not null`.execute(tx)
}

/** Deletes at most `limit` of the events before a moment, also from the counts. Returns how many. */
export async function deleteEventsBefore(tx: Tx, before: Date, limit: number): Promise<number> {
  await lockDays(tx)
  const { rows } = await sql<{ deleted: number }>`with gone as (
      delete from audit_events where id in (select id from audit_events where created_at < ${before} limit ${limit})
      returning organization_id, date_trunc('day', created_at, 'UTC') as day),
    fewer as (
      update audit_days d set events = greatest(0, d.events - counted.events)
        from (select case grouping(organization_id) when 1 then '' else organization_id end as organization_id, day, count(*) as events
                from gone group by grouping sets ((organization_id, day), (day))) counted
       where d.organization_id = counted.organization_id and d.starts_at = counted.day)
    select count(*) as deleted from gone`.execute(tx)
  return rows[0]?.deleted ?? 0
}

/**
 * Forgets the days before a moment, from which no events are left. So a count goes with them that was wrong: of a day that was counted
 * too early, by a clock that was ahead, or whose events a server of an older version has deleted.
 */
export async function deleteDaysBefore(tx: Tx, before: Date) {
  await lockDays(tx)
  await sql`update audit_days set events = 0 where starts_at <= ${before}::timestamptz - interval '24 hours' and events > 0`.execute(
    tx,
  )
  await tx
    .deleteFrom('audit_days')
    .where('events', '=', 0)
    .where('starts_at', '<', before)
    .where('starts_at', '<', (eb) => eb.selectFrom('audit_days').select((days) => days.fn.max('starts_at').as('last')))
    .execute()
}

/** No day is counted while its events are deleted. Reading goes on. */
async function lockDays(tx: Tx) {
  await sql`lock table audit_days in exclusive mode`.execute(tx)
}
