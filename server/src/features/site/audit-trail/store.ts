import { type SelectQueryBuilder, type Selectable, sql } from 'kysely'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type AuditEventRow = Selectable<Schema['audit_events']>

/** `organizationId` undefined: the whole server. `since` and `until` are exclusive. */
export type TrailFilter = {
  organizationId: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  id?: string | undefined
  actorId?: string | undefined
  resourceType?: string | undefined
  resourceId?: string | undefined
  action?: string | undefined
  q?: string | undefined
}

/** Events that a filtered list counts and searches, so that its cost does not grow with the trail. */
export const MAX_FILTERED = 50_000

/** A page of events, newest first. */
export async function listEvents(db: Db, filter: TrailFilter, page: Page) {
  const { organizationId: _, since: _since, ...others } = filter
  const isFiltered = Object.values(others).some((value) => value !== undefined)
  const candidates = isFiltered ? newestFirst(db, filter).limit(MAX_FILTERED) : newestFirst(db, filter)
  const matching = db.selectFrom(candidates.as('e')).where(matches(filter.q))
  const [rows, total] = await Promise.all([
    matching
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(page.size)
      .offset(pageOffset(page))
      .execute(),
    isFiltered ? countMatching(matching) : countEvents(db, filter),
  ])
  return { rows, total }
}

/** All events of a filter but `q`, newest first. Each equality has an index with the time. */
function newestFirst(db: Db, { organizationId, since, until, ...filter }: TrailFilter) {
  let events = db.selectFrom('audit_events').selectAll()
  if (organizationId !== undefined) events = events.where('organization_id', '=', organizationId)
  if (since !== undefined) events = events.where('created_at', '>', since)
  if (until !== undefined) events = events.where('created_at', '<', until)
  if (filter.id !== undefined) events = events.where('id', '=', filter.id)
  if (filter.actorId !== undefined) events = events.where('actor_id', '=', filter.actorId)
  if (filter.resourceType !== undefined) events = events.where('resource_type', '=', filter.resourceType)
  if (filter.resourceId !== undefined) events = events.where('resource_id', '=', filter.resourceId)
  if (filter.action !== undefined) events = events.where('action', '=', filter.action)
  return events.orderBy('created_at', 'desc').orderBy('id', 'desc')
}

function matches(q: string | undefined) {
  if (q === undefined) return sql<boolean>`true`
  return sql<boolean>`concat_ws(' ', actor_name, actor_id, token_id, resource_type, resource_id, action, meta::text, request_id, address)
    ilike ${containing(q)}`
}

async function countMatching(matching: SelectQueryBuilder<{ e: AuditEventRow }, 'e', object>) {
  const count = matching.select(sql<number>`count(*)`.as('total'))
  return (await count.executeTakeFirstOrThrow()).total
}

const BATCH = 2000

/** All events of a filter in batches, newest first: short statements instead of one long transaction. */
export async function* eachBatch(db: Db, filter: TrailFilter): AsyncGenerator<AuditEventRow[]> {
  let last: Pick<AuditEventRow, 'created_at' | 'id'> | undefined
  for (;;) {
    const events = newestFirst(db, filter).limit(BATCH)
    const batch = last ? events.where(sql<boolean>`(created_at, id) < (${last.created_at}, ${last.id})`) : events
    const rows = await db.selectFrom(batch.as('e')).selectAll().select(matches(filter.q).as('is_match')).execute()
    last = rows.at(-1)
    if (!last) return
    yield rows.filter((row) => row.is_match)
  }
}

const MAX_ACTORS = 30

/**
 * Accounts, teams and organizations that have events, by part of their name. Each candidate is one look-up in an index: a join could read all
 * events.
 */
export async function listActors(db: Db, organizationId: string | undefined, q: string | undefined) {
  const own = organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`
  const { rows } = await sql<AuditActor>`
    select a.id, a.type, a.name
      from (select id, type, name from (
              select u.id, case when t.id is null then 'users' else 'teams' end as type, coalesce(t.name, u.username) as name
                from users u left join teams t on t.service_user_id = u.id
              union all
              select id, 'organizations', name from organizations) candidates
             where name ilike ${containing(q ?? '')}
             order by name, id) a
     cross join lateral (select from audit_events where ${own} and actor_id = a.id limit 1) event
     order by name, id limit ${MAX_ACTORS}`.execute(db)
  return rows
}

type AuditActor = { id: string; type: 'users' | 'teams' | 'organizations'; name: string }

export type AuditTokens = Awaited<ReturnType<typeof findTokens>>

/** Descriptions and owners of the tokens of teams, organizations and agent pools. Those of a person are only shown to that person. */
export async function findTokens(db: Db, ids: ReadonlySet<string>) {
  if (ids.size === 0) return new Map<string, never>()
  const { rows } = await sql<AuditToken>`
    select k.id, k.description, case k.kind when 'team' then 'teams' when 'agent' then 'agent-pools' else 'organizations' end as type,
           coalesce(t.id, p.id, o.name) as owner_id, coalesce(t.name, p.name, o.name) as name
      from tokens k
      left join teams t on k.kind = 'team' and t.id = k.team_id
      left join agent_pools p on k.kind = 'agent' and p.id = k.agent_pool_id
      left join organizations o on k.kind in ('organization', 'audit-trails') and o.id = k.organization_id
     where k.id = any(${[...ids]}) and coalesce(t.id, p.id, o.id) is not null`.execute(db)
  return new Map(
    rows.map(({ id, description, type, owner_id, name }) => [id, { description, owner: { type, id: owner_id, name } }]),
  )
}

type AuditToken = {
  id: string
  description: string | null
  type: 'teams' | 'organizations' | 'agent-pools'
  owner_id: string
  name: string
}

/** A UTC day, in ms. */
const DAY_MS = 86_400_000
/** Delay after the end of a day until all its events are written, in ms. */
const LAG_MS = 3_600_000

/** The time up to which days are counted. Days without events have no row. */
const countedUntil = sql`(select coalesce(max(starts_at) + interval '24 hours', '-infinity') from audit_days where organization_id = '')`

/** Sums the counted days, and counts the events before the first and after the last of them. */
async function countEvents(db: Db, { organizationId, since }: TrailFilter): Promise<number> {
  const own = organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`
  const midnight = since && new Date(Math.floor(since.getTime() / DAY_MS + 1) * DAY_MS)
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

/** Counts the events of past days that are not counted yet. */
export async function insertDays(tx: Tx, now: Date) {
  await lockDays(tx)
  const until = new Date(Math.floor((now.getTime() - LAG_MS) / DAY_MS) * DAY_MS)
  await sql`
    insert into audit_days (organization_id, starts_at, events)
    select case grouping(organization_id) when 1 then '' else organization_id end, day, count(*)
      from (select organization_id, date_trunc('day', created_at, 'UTC') as day
              from audit_events where created_at >= ${countedUntil} and created_at < ${until}) counted
     group by grouping sets ((organization_id, day), (day))
    having grouping(organization_id) = 1 or organization_id is not null`.execute(tx)
}

/** Deletes at most `limit` events before a time, and subtracts them from the counts. Returns their number. */
export async function deleteEventsBefore(tx: Tx, before: Date, limit: number): Promise<number> {
  await lockDays(tx)
  const { rows } = await sql<{ deleted: number }>`with deleted as (
      delete from audit_events where id in (select id from audit_events where created_at < ${before} limit ${limit})
      returning organization_id, date_trunc('day', created_at, 'UTC') as day),
    fewer as (
      update audit_days d set events = greatest(0, d.events - counted.events)
        from (select case grouping(organization_id) when 1 then '' else organization_id end as organization_id, day, count(*) as events
                from deleted group by grouping sets ((organization_id, day), (day))) counted
       where d.organization_id = counted.organization_id and d.starts_at = counted.day)
    select count(*) as deleted from deleted`.execute(tx)
  return rows[0]?.deleted ?? 0
}

/** Deletes the counts of days whose events are deleted. This also removes counts that a wrong clock or an older server made wrong. */
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

/** Prevents counting a day while its events are deleted; reads are not blocked. */
async function lockDays(tx: Tx) {
  await sql`lock table audit_days in exclusive mode`.execute(tx)
}
