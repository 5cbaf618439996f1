import { RUN_GROUPS, type RunStatus } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import { OPERATION_FLAGS, createdCondition, filterCondition, operationCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { mayContainText } from './message-store.ts'

/**
 * So many runs (`depth`) are looked through in one way before the next way is tried. `overlap` is more than the runs that transactions, or
 * clocks of servers that differ, put out of the order of their moments. Tests take less, so that few runs lead into all ways.
 */
const BOUNDS = { depth: 1000, overlap: 1000 }
/** Number of newest messages sampled to decide whether a text is common. */
const SAMPLE = 300

/** The runs to return a page of. */
type RunSearch = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none has to be checked. */
  seesAll: boolean
  filter: RunFilter | undefined
}

/**
 * The ids of a page, the newest first, and one more when there is a next page. No one knows beforehand how many runs a filter
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
  const plans = filter ? searchPlans(organizationId, filter, overlap) : []
  const straight = filter && seesAll && plans.find((plan) => plan.isInOrder && isCovered(filter, plan))
  if (straight) return (await runPlan(db, straight, { matching, page, limit: exact })).ids

  const enough = ({ ids, total }: Found, isInOrder = true) => total !== null || (isInOrder && ids.length > page.size)
  const limit = pageOffset(page) + depth
  const { rareText, others } = await sortWays(db, { organizationId, filter, plans })
  const rare = rareText && (await runPlan(db, rareText, { matching, page, limit }))
  if (rare && enough(rare, false)) return rare.ids
  const newest = await readNewest(db, { matching, organizationId, page, depth })
  if (enough(newest)) return newest.ids
  for (const plan of others) {
    const found = await runPlan(db, plan, { matching, page, limit })
    if (enough(found, plan.isInOrder)) return found.ids
  }
  const visible = seesAll ? undefined : await inVisibleWorkspaces(db, actor, organizationId)
  if (visible) {
    const found = await runPlan(db, visible, { matching, page, limit: filter ? limit : exact })
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
  const plans = searchPlans(organizationId, { ...filter, workspaceNames: undefined }, overlap)
  const { rareText, others } = await sortWays(db, { organizationId, filter, plans })
  for (const plan of rareText ? [rareText, ...others] : others) {
    const { ids, total } = await runPlan(db, plan, { matching, page, limit: depth })
    if (total !== null) return { ids: ids.slice(0, page.size), total }
  }
  return undefined
}

/** The ids of a page, and how many runs match; null where there may be runs that the search has not come to. */
type Found = { ids: string[]; total: number | null }
type Matching = { matching: ReturnType<typeof sql>; page: Page }

/** The runs are looked up one by one: nothing tells PostgreSQL how few a way has found, and it would read all of them at once. */
async function runPlan(
  db: Db,
  plan: SearchPlan,
  { matching, page, limit }: Matching & { limit: number },
): Promise<Found> {
  const { rows } = await sql<Found>`with found as materialized (${plan.runs(limit)}),
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
  { organizationId, filter, plans }: { organizationId: string; filter: RunFilter | undefined; plans: SearchPlan[] },
) {
  const others = plans.filter(({ isByText }) => !isByText)
  if (filter?.text === undefined) return { rareText: undefined, others }
  const { rows } = await sql<{ is_common: boolean }>`select count(*) >= ${sql.lit(SAMPLE / 100)} as is_common from (
    select k.words from run_keys k where k.organization_id = ${organizationId}
     order by k.created_at desc limit ${sql.lit(SAMPLE)}) k where ${mayContainText(sql`k.words`, filter.text)}`.execute(
    db,
  )
  const rareText = rows[0]?.is_common ? undefined : plans.find(({ isByText }) => isByText)
  return { rareText, others }
}

/** The limit is a literal, and a first page has no offset, so that PostgreSQL can tell that it needs few rows. */
function window(page: Page) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + 1)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}

/** Whatever the way leads to matches. */
function isCovered(filter: RunFilter, plan: SearchPlan) {
  return Object.entries(filter).every(
    ([part, value]) => value === undefined || plan.covers.some((covered) => covered === part),
  )
}

/** In more workspaces than these, runs are not collected workspace by workspace. */
const MAX_WORKSPACES = 300

/**
 * A way to the runs that a search may find: at most `limit` of them, as `id` and `seq`. `isInOrder` where they are the newest; `covers`
 * names the parts of the filter that all of them match.
 */
export type SearchPlan = {
  isInOrder: boolean
  covers: readonly (keyof RunFilter)[]
  /** Its cost grows with the messages that have parts of the text. */
  isByText?: true
  runs: (limit: number) => RawBuilder<unknown>
}

/**
 * The ways that a filter opens, those first that are likely to lead to few runs. `overlap` is more than the runs whose moments of creation
 * are not in the order of their numbers.
 */
export function searchPlans(organizationId: string, filter: RunFilter, overlap: number): SearchPlan[] {
  const { text, agentPoolNames, workspaceNames, changedSince, created } = filter
  return [
    workspaceNames &&
      lanes(
        sql`workspaces lane where lane.organization_id = ${organizationId} and lower(lane.name) = any(${workspaceNames})`,
        { covers: ['workspaceNames'], runs: sql`runs r where r.workspace_id = lane.id`, order: sql`r.number desc` },
      ),
    agentPoolNames &&
      lanes(
        sql`agent_pools lane where lane.organization_id = ${organizationId} and lower(lane.name) = any(${agentPoolNames})`,
        {
          covers: ['agentPoolNames'],
          runs: sql`runs r where r.agent_pool_id = lane.id and r.agent_pool_id <> 'apool-builtin'
            and r.organization_id = ${organizationId}`,
        },
      ),
    changedSince && changedLately(organizationId, { changedSince, statuses: commonStatuses(filter) }),
    ofKinds(organizationId, filter, overlap),
    text !== undefined && withText(organizationId, text),
    created && createdIn(organizationId, created, overlap),
  ].filter((plan) => typeof plan === 'object')
}

/** The newest runs of several sets, each of which an index has in order. */
function lanes(
  sets: RawBuilder<unknown>,
  {
    covers,
    runs,
    order = sql`r.seq desc`,
  }: Pick<SearchPlan, 'covers'> & { runs: RawBuilder<unknown>; order?: RawBuilder<unknown> },
): SearchPlan {
  return {
    isInOrder: true,
    covers,
    runs: (limit) => sql`select found.id, found.seq from (select * from ${sets}) lane
      cross join lateral (select r.id, r.seq from ${runs} order by ${order} limit ${limit}) found
      order by found.seq desc limit ${limit}`,
  }
}

/**
 * The runs whose words may contain the text; where there are many, the newest are unknown. A run with this id is found as well. The
 * organization is no condition of an index here: PostgreSQL would collect all of its runs too.
 */
function withText(organizationId: string, text: string): SearchPlan {
  return {
    isInOrder: false,
    covers: [],
    isByText: true,
    runs: (limit) => sql`(select k.run_id as id, k.seq from run_keys k
         where ${mayContainText(sql`k.words`, text)} and k.organization_id || '' = ${organizationId} limit ${limit})
      union select id, seq from runs where id = ${text} and organization_id = ${organizationId}`,
  }
}

function changedLately(
  organizationId: string,
  { changedSince, statuses }: { changedSince: Date; statuses: readonly RunStatus[] | undefined },
): SearchPlan {
  const { errored } = RUN_GROUPS
  const isFailed = statuses?.every((status) => errored.includes(status))
    ? sql`and r.status in (${literals(errored)})`
    : sql``
  return {
    isInOrder: false,
    covers: ['changedSince'],
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} and r.updated_at >= ${changedSince} ${isFailed}
      order by r.updated_at desc limit ${limit}`,
  }
}

type Created = NonNullable<RunFilter['created']>

/** The numbers of runs are only nearly in the order of their moments: transactions overlap, and clocks of servers differ. */
function createdIn(organizationId: string, created: Created, overlap: number): SearchPlan {
  return {
    isInOrder: true,
    covers: ['created'],
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} and ${createdCondition(created)} ${numbersOf(organizationId, created, overlap)}
      order by r.seq desc limit ${limit}`,
  }
}

/** The numbers that runs of a time can have, as conditions on runs `r`. */
function numbersOf(organizationId: string, created: Created, overlap: number) {
  const { from, before } = created
  const keys = sql`select k.seq from run_keys k where k.organization_id = ${organizationId}`
  const first = sql`and r.seq >= (select min(seq) from (${keys} and k.created_at >= ${from} order by k.created_at limit ${sql.lit(overlap)}) k)`
  if (!before) return first
  return sql`${first} and r.seq <= (select max(seq) from (${keys} and k.created_at < ${before}
    order by k.created_at desc limit ${sql.lit(overlap)}) k)`
}

/** The columns between the organization (or the creator) and the number of a run in the index. */
const LANE = ['source', ...OPERATION_FLAGS, 'status']
const columnsOf = (table: 'r' | 'lanes') => sql.join(LANE.map((name) => sql.ref(`${table}.${name}`)))

/**
 * An index has the runs of each kind and status in order, and those of each person. Which kinds and statuses there are it tells by
 * jumping from one to the next.
 */
function ofKinds(organizationId: string, filter: RunFilter, overlap: number): SearchPlan | undefined {
  const { sources, operations, username, created } = filter
  const statuses = commonStatuses(filter)
  if (!sources && !operations && !statuses && username === undefined) return undefined
  const creator =
    username === undefined
      ? sql``
      : sql`and r.created_by_user_id = (select id from users where lower(username) = ${username})`
  const runs = sql`runs r where r.organization_id = ${organizationId} ${creator}`
  const first = sql`order by ${columnsOf('r')} limit 1`
  const inLane = sql.join(
    LANE.map((name) => sql`${sql.ref(`r.${name}`)} = ${sql.ref(`lanes.${name}`)}`),
    sql` and `,
  )
  const inTime = created ? sql`and ${createdCondition(created)} ${numbersOf(organizationId, created, overlap)}` : sql``
  return {
    isInOrder: true,
    covers: ['sources', 'operations', 'statuses', 'groupStatuses', 'username', 'created'],
    runs: (limit) => sql`with recursive lanes as (
        (select ${columnsOf('r')} from ${runs} ${first})
        union all
        select next.* from lanes cross join lateral (
          select ${columnsOf('r')} from ${runs} and (${columnsOf('r')}) > (${columnsOf('lanes')}) ${first}) next)
      select found.id, found.seq from lanes
      cross join lateral (select r.id, r.seq from ${runs} and ${inLane} ${inTime}
          order by ${columnsOf('r')}, r.seq desc limit ${limit}) found
      where true ${sources ? sql`and lanes.source = any(${sources}::text[])` : sql``}
        ${operations ? sql`and ${operationCondition('lanes', operations)}` : sql``}
        ${statuses ? sql`and lanes.status = any(${statuses}::text[])` : sql``}
      order by found.seq desc limit ${limit}`,
  }
}

/** The runs of each workspace that the actor sees, where these are few. */
async function inVisibleWorkspaces(db: Db, actor: Actor, organizationId: string): Promise<SearchPlan | undefined> {
  const { rows } = await sql<{ id: string }>`select w.id from workspaces w
    where w.organization_id = ${organizationId} and ${visibleWorkspace(actor)} limit ${sql.lit(MAX_WORKSPACES + 1)}`.execute(
    db,
  )
  if (rows.length > MAX_WORKSPACES) return undefined
  return lanes(sql`unnest(${rows.map(({ id }) => id)}::text[]) lane (id)`, {
    covers: [],
    runs: sql`runs r where r.workspace_id = lane.id`,
    order: sql`r.number desc`,
  })
}

/** The statuses that both filters leave; undefined without such a filter. */
function commonStatuses({ statuses, groupStatuses }: RunFilter) {
  if (!statuses || !groupStatuses) return statuses ?? groupStatuses
  return statuses.filter((status) => groupStatuses.includes(status))
}
