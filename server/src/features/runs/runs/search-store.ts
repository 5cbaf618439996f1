import { sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { filterCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { mayContainText } from './message-store.ts'
import { inVisibleWorkspaces, type Way, waysTo } from './search-ways-store.ts'

/**
 * So many runs (`depth`) are looked through in one way before the next way is tried. `overlap` is more than the runs that transactions, or
 * clocks of servers that differ, put out of the order of their moments. Tests take less, so that few runs lead into all ways.
 */
const BOUNDS = { depth: 1000, overlap: 1000 }
/** So many of the newest messages tell whether a text is common. */
const SAMPLE = 300

/** Of which runs a page is wanted. */
export type RunSearch = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none has to be checked. */
  seesAll: boolean
  filter: RunFilter | undefined
}

/**
 * The ids of a page, the newest first, and one more when there is a next page. Nobody knows beforehand how many runs a filter
 * leaves: where many match, they are among the newest runs of the organization; where few do, an index for some of the conditions has them.
 * Each way is cut off after a bounded number of runs. Only where none of them has ended are all runs read.
 */
export async function findRunIds(
  db: Db,
  actor: Actor,
  search: RunSearch,
  { depth, overlap } = BOUNDS,
): Promise<string[]> {
  const { organizationId, filter, seesAll, page } = search
  if (filter?.commit !== undefined) return []
  const matching = matches(actor, search)
  if (!filter && seesAll) return readAll(db, { matching, page })
  const exact = pageOffset(page) + page.size + 1
  const ways = filter ? waysTo(organizationId, filter, overlap) : []
  const straight = filter && seesAll && ways.find((way) => way.isInOrder && isCovered(filter, way))
  if (straight) return (await goWay(db, straight, { matching, page, limit: exact })).ids

  const enough = ({ ids, total }: Found, isInOrder = true) => total !== null || (isInOrder && ids.length > page.size)
  const limit = pageOffset(page) + depth
  const { rareText, others } = await sortWays(db, { organizationId, filter, ways })
  const rare = rareText && (await goWay(db, rareText, { matching, page, limit }))
  if (rare && enough(rare, false)) return rare.ids
  const newest = await readNewest(db, { matching, organizationId, page, depth })
  if (enough(newest)) return newest.ids
  for (const way of others) {
    const found = await goWay(db, way, { matching, page, limit })
    if (enough(found, way.isInOrder)) return found.ids
  }
  const visible = seesAll ? undefined : await inVisibleWorkspaces(db, actor, organizationId)
  if (visible) {
    const found = await goWay(db, visible, { matching, page, limit: filter ? limit : exact })
    if (enough(found)) return found.ids
  }
  return readAll(db, { matching, page })
}

/**
 * The ids of a page of the runs of a large workspace, and how many match: undefined where no index has few runs, so that all runs of the
 * workspace have to be counted.
 */
export async function findFewRunIds(
  db: Db,
  {
    organizationId,
    workspaceId,
    filter,
    page,
  }: { organizationId: string; workspaceId: string; filter: RunFilter; page: Page },
  { depth, overlap } = BOUNDS,
): Promise<{ ids: string[]; total: number } | undefined> {
  const matching = sql`r.workspace_id = ${workspaceId} and ${filterCondition(filter)}`
  const ways = waysTo(organizationId, { ...filter, workspaceNames: undefined }, overlap)
  const { rareText, others } = await sortWays(db, { organizationId, filter, ways })
  for (const way of rareText ? [rareText, ...others] : others) {
    const { ids, total } = await goWay(db, way, { matching, page, limit: depth })
    if (total !== null) return { ids: ids.slice(0, page.size), total }
  }
  return undefined
}

/** The ids of a page, and how many runs match; null where there may be runs that the search has not come to. */
type Found = { ids: string[]; total: number | null }
type Matching = { matching: ReturnType<typeof sql>; page: Page }

/** The runs are looked up one by one: nothing tells PostgreSQL how few a way has found, and it would read all of them at once. */
async function goWay(db: Db, way: Way, { matching, page, limit }: Matching & { limit: number }): Promise<Found> {
  const { rows } = await sql<Found>`with found as materialized (${way.runs(limit)}),
    matching as materialized (select r.id, r.seq from found
      cross join lateral (select * from runs where runs.id = found.id offset 0) r join workspaces w on w.id = r.workspace_id
      where ${matching})
    select case when (select count(*) from found) < ${limit}::integer then (select count(*) from matching) end as total,
      array(select id from matching order by seq desc ${window(page)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

/** The offset keeps PostgreSQL from starting anywhere else, such as at all runs of the one workspace that is asked for. */
async function readNewest(
  db: Db,
  { matching, organizationId, page, depth }: Matching & { organizationId: string; depth: number },
): Promise<Found> {
  const { rows } = await sql<Found>`with last as materialized (
      select seq from runs where organization_id = ${organizationId}
       order by seq desc offset ${sql.lit(depth)} + ${pageOffset(page)}::integer limit 1),
    ids as materialized (select array(
      select r.id from (select * from runs
          where organization_id = ${organizationId} and seq > coalesce((select seq from last), 0) order by seq desc offset 0) r
        join workspaces w on w.id = r.workspace_id
       where ${matching} order by r.seq desc ${window(page)}) as ids)
    select case when not exists (select from last) then cardinality(ids) end as total, ids from ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

async function readAll(db: Db, { matching, page }: Matching) {
  const { rows } = await sql<{ id: string }>`select r.id from runs r join workspaces w on w.id = r.workspace_id
    where ${matching} order by r.seq desc ${window(page)}`.execute(db)
  return rows.map(({ id }) => id)
}

function matches(actor: Actor, { organizationId, seesAll, filter }: RunSearch) {
  return sql`r.organization_id = ${organizationId}
    ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`} ${filter ? sql`and ${filterCondition(filter)}` : sql``}`
}

/**
 * The way of a text is the best one where few runs have the text. Else it is none: the index collects all places before it answers. One in
 * a hundred is taken for common.
 */
async function sortWays(
  db: Db,
  { organizationId, filter, ways }: { organizationId: string; filter: RunFilter | undefined; ways: Way[] },
) {
  const others = ways.filter(({ isByText }) => !isByText)
  if (filter?.text === undefined) return { rareText: undefined, others }
  const { rows } = await sql<{ is_common: boolean }>`select count(*) >= ${sql.lit(SAMPLE / 100)} as is_common from (
    select k.words from run_keys k where k.organization_id = ${organizationId}
     order by k.created_at desc limit ${sql.lit(SAMPLE)}) k where ${mayContainText(sql`k.words`, filter.text)}`.execute(
    db,
  )
  const rareText = rows[0]?.is_common ? undefined : ways.find(({ isByText }) => isByText)
  return { rareText, others }
}

/** The limit is a literal, and a first page has no offset, so that PostgreSQL can tell that it needs few rows. */
function window(page: Page) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + 1)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}

/** Whatever the way leads to matches. */
function isCovered(filter: RunFilter, way: Way) {
  return Object.entries(filter).every(
    ([part, value]) => value === undefined || way.covers.some((covered) => covered === part),
  )
}
