import { RUN_GROUPS, UNFINISHED_STATUSES } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { literals } from '../../../db/sql.ts'
import {
  OPERATION_FLAGS,
  createdCondition,
  filterCondition,
  isInPools,
  isOfCommit,
  operationCondition,
  pageWindow,
  statusCondition,
} from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { mayContainText } from './message-store.ts'

/**
 * `depth`: runs scanned with one plan before the next is tried. `overlap`: upper bound of the runs whose order of numbers differs from
 * that of their times, because of concurrent transactions and clock skew. Tests lower both, so that few runs exercise all plans.
 */
const BOUNDS = { depth: 1000, overlap: 1000 }
/** Number of newest messages sampled to decide whether a text is common. */
const SAMPLE = 300
/** With more visible workspaces than this, runs are not collected workspace by workspace. */
const MAX_WORKSPACES = 300

type RunSearch = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so none has to be checked. */
  seesAll: boolean
  filter: RunFilter | undefined
}

/**
 * A bounded scan: at most `limit` runs that may match, as `id` and `seq`. `isInOrder`: they are the newest. `covers`: the parts of the
 * filter that all of them match. `isByText`: its cost grows with the number of messages that contain parts of the text.
 */
export type SearchPlan = {
  isInOrder: boolean
  covers: readonly (keyof RunFilter)[]
  isByText?: true
  runs: (limit: number) => RawBuilder<unknown>
}

/** The ids of a page, and the number of matching runs; null if the scan ended before all were found. */
type SearchResult = { ids: string[]; total: number | null }
type Matching = { matching: ReturnType<typeof sql>; page: Page }
type Newest = Matching & { organizationId: string; depth: number }

/**
 * The ids of a page, newest first, and one more if there is a next page. The selectivity of a filter is unknown in advance: if many
 * runs match, they are among the newest of the organization; if few do, an index for some of the conditions has them. Each plan ends
 * after a bounded number of runs. All runs are read only if no plan was conclusive.
 */
export async function findRunIds(db: Db, actor: Actor, search: RunSearch, { depth, overlap } = BOUNDS) {
  const { organizationId, filter, seesAll, page } = search
  const matching = sql`r.organization_id = ${organizationId}
    ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`} ${filter ? sql`and ${filterCondition(filter)}` : sql``}`
  if (!filter && seesAll) return readAll(db, { matching, page })
  const exact = pageOffset(page) + page.size + 1
  const plans = filter ? searchPlans(organizationId, filter, overlap) : []
  const exactPlan = filter && seesAll && plans.find((plan) => plan.isInOrder && isCovered(filter, plan))
  if (exactPlan) return (await runPlan(db, exactPlan, { matching, page, limit: exact })).ids

  const enough = ({ ids, total }: SearchResult, isInOrder = true) =>
    total !== null || (isInOrder && ids.length > page.size)
  const limit = pageOffset(page) + depth
  const { rareText, others } = await rankPlans(db, { organizationId, filter, plans })
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

type WorkspaceSearch = { organizationId: string; workspaceId: string; filter: RunFilter; page: Page }

/** The ids of a page of a large workspace's runs, and their total; undefined if no plan was conclusive. */
export async function findFewRunIds(db: Db, search: WorkspaceSearch, { depth, overlap } = BOUNDS) {
  const { organizationId, workspaceId, filter, page } = search
  const matching = sql`r.workspace_id = ${workspaceId} and ${filterCondition(filter)}`
  const plans = searchPlans(organizationId, { ...filter, workspaceNames: undefined }, overlap)
  const { rareText, others } = await rankPlans(db, { organizationId, filter, plans })
  for (const plan of rareText ? [rareText, ...others] : others) {
    const { ids, total } = await runPlan(db, plan, { matching, page, limit: depth })
    if (total !== null) return { ids: ids.slice(0, page.size), total }
  }
  return undefined
}

/** Looks up the runs one by one: PostgreSQL does not know how few the plan returns, and would scan all runs. */
async function runPlan(db: Db, plan: SearchPlan, { matching, page, limit }: Matching & { limit: number }) {
  const { rows } = await sql<SearchResult>`with found as materialized (${plan.runs(limit)}),
    matching as materialized (select r.id, r.seq from found
      cross join lateral (select * from runs where runs.id = found.id offset 0) r join workspaces w on w.id = r.workspace_id
      where ${matching})
    select case when (select count(*) from found) < ${limit}::integer then (select count(*) from matching) end as total,
      array(select id from matching order by seq desc ${pageWindow(page, 1)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

/** `offset 0` prevents PostgreSQL from starting elsewhere, such as at all runs of the one requested workspace. */
async function readNewest(db: Db, { matching, organizationId, page, depth }: Newest) {
  const { rows } = await sql<SearchResult>`with last as materialized (
      select seq from runs where organization_id = ${organizationId}
       order by seq desc offset ${sql.lit(depth)} + ${pageOffset(page)}::integer limit 1),
    ids as materialized (select array(
      select r.id from (select * from runs
          where organization_id = ${organizationId} and seq > coalesce((select seq from last), 0) order by seq desc offset 0) r
        join workspaces w on w.id = r.workspace_id
       where ${matching} order by r.seq desc ${pageWindow(page, 1)}) as ids)
    select case when not exists (select from last) then cardinality(ids) end as total, ids from ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

async function readAll(db: Db, { matching, page }: Matching) {
  const { rows } = await sql<{ id: string }>`select r.id from runs r join workspaces w on w.id = r.workspace_id
    where ${matching} order by r.seq desc ${pageWindow(page, 1)}`.execute(db)
  return rows.map(({ id }) => id)
}

type Plans = { organizationId: string; filter: RunFilter | undefined; plans: readonly SearchPlan[] }

/** The plan by text is dropped if 1 % of messages have the text: its index collects all matches before the first. */
async function rankPlans(db: Db, { organizationId, filter, plans }: Plans) {
  const others = plans.filter(({ isByText }) => !isByText)
  if (filter?.text === undefined) return { rareText: undefined, others }
  const { rows } = await sql<{ is_common: boolean }>`select count(*) >= ${sql.lit(SAMPLE / 100)} as is_common from (
    select k.words from run_keys k where k.organization_id = ${organizationId}
     order by k.created_at desc limit ${sql.lit(SAMPLE)}) k
    where ${mayContainText(sql`k.words`, filter.text)}`.execute(db)
  return { rareText: rows[0]?.is_common ? undefined : plans.find(({ isByText }) => isByText), others }
}

/** Whether every run of the plan matches the whole filter. */
function isCovered(filter: RunFilter, { covers }: SearchPlan) {
  return Object.entries(filter).every(([part, value]) => value === undefined || covers.some((name) => name === part))
}

/** The plans for a filter, those first that are likely to find few runs. `overlap` as in `BOUNDS`. */
export function searchPlans(organizationId: string, filter: RunFilter, overlap: number): SearchPlan[] {
  const { commit, text, agentPoolNames, workspaceNames, changedSince, created } = filter
  const ofOrganization = sql`lane.organization_id = ${organizationId}`
  return [
    unfinished(organizationId, filter),
    commit !== undefined && ofCommit(organizationId, commit),
    workspaceNames &&
      lanes(sql`workspaces lane where ${ofOrganization} and lower(lane.name) = any(${workspaceNames})`, {
        covers: ['workspaceNames'],
        ...OF_WORKSPACE,
      }),
    agentPoolNames &&
      lanes(sql`agent_pools lane where ${ofOrganization} and lower(lane.name) = any(${agentPoolNames})`, {
        covers: ['agentPoolNames'],
        runs: sql`runs r where r.agent_pool_id = lane.id and r.agent_pool_id <> 'apool-builtin'
          and r.organization_id = ${organizationId}`,
        order: sql`r.seq desc`,
      }),
    changedSince && changedLately(organizationId, filter, changedSince),
    byAttributes(organizationId, filter, overlap),
    text !== undefined && withText(organizationId, text),
    created && createdIn(organizationId, created, overlap),
  ].filter((plan) => typeof plan === 'object')
}

const OF_WORKSPACE = { runs: sql`runs r where r.workspace_id = lane.id`, order: sql`r.number desc` }

type Lane = Pick<SearchPlan, 'covers'> & { runs: RawBuilder<unknown>; order: RawBuilder<unknown> }

/** The newest runs of several sets, each of which is ordered by an index. */
function lanes(sets: RawBuilder<unknown>, { covers, runs, order }: Lane): SearchPlan {
  return {
    isInOrder: true,
    covers,
    runs: (limit) => sql`select found.id, found.seq from (select * from ${sets}) lane
      cross join lateral (select r.id, r.seq from ${runs} order by ${order} limit ${limit}) found
      order by found.seq desc limit ${limit}`,
  }
}

/** Unfinished runs have an index and are few, even of pools with many runs. Autoscalers of agents ask for those of a pool every few seconds. */
function unfinished(organizationId: string, filter: RunFilter): SearchPlan | undefined {
  const statuses = commonStatuses(filter)
  if (!statuses?.every((status) => UNFINISHED_STATUSES.includes(status))) return undefined
  const { agentPoolNames } = filter
  const inPools = agentPoolNames ? sql`and ${isInPools(organizationId, agentPoolNames)}` : sql``
  return {
    isInOrder: true,
    covers: ['statuses', 'groupStatuses', 'agentPoolNames'],
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} and ${statusCondition(statuses)} ${inPools} order by r.seq desc limit ${limit}`,
  }
}

/** Unordered, and the run with this id. `|| ''` keeps the organization out of index conditions: PostgreSQL would collect all of its runs too. */
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

function ofCommit(organizationId: string, commit: string): SearchPlan {
  return {
    isInOrder: false,
    covers: [],
    runs: (
      limit,
    ) => sql`select r.id, r.seq from configuration_versions cv join runs r on r.configuration_version_id = cv.id
      where ${isOfCommit(commit)} and r.organization_id || '' = ${organizationId} limit ${limit}`,
  }
}

function changedLately(organizationId: string, filter: RunFilter, changedSince: Date): SearchPlan {
  const { errored } = RUN_GROUPS
  const areErrored = commonStatuses(filter)?.every((status) => errored.includes(status))
  return {
    isInOrder: false,
    covers: ['changedSince'],
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} and r.updated_at >= ${changedSince}
        ${areErrored ? sql`and r.status in (${literals(errored)})` : sql``}
      order by r.updated_at desc limit ${limit}`,
  }
}

type Created = NonNullable<RunFilter['created']>

function createdIn(organizationId: string, created: Created, overlap: number): SearchPlan {
  return {
    isInOrder: true,
    covers: ['created'],
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} ${createdWithin(organizationId, created, overlap)}
      order by r.seq desc limit ${limit}`,
  }
}

/** Conditions on the time and, since an index has these in order, on the numbers that runs of that time can have. */
function createdWithin(organizationId: string, created: Created, overlap: number) {
  const { from, before } = created
  const keys = sql`select k.seq from run_keys k where k.organization_id = ${organizationId}`
  const first = sql`and ${createdCondition(created)} and r.seq >= (select min(seq) from (${keys}
    and k.created_at >= ${from} order by k.created_at limit ${sql.lit(overlap)}) k)`
  if (!before) return first
  return sql`${first} and r.seq <= (select max(seq) from (${keys} and k.created_at < ${before}
    order by k.created_at desc limit ${sql.lit(overlap)}) k)`
}

/** The columns between the organization (or the creator) and the number of a run in the index. */
const LANE = ['source', ...OPERATION_FLAGS, 'status']
const columnsOf = (table: 'r' | 'lanes') => sql.join(LANE.map((name) => sql.ref(`${table}.${name}`)))

/** Indexes have the runs of organizations and users in order within each combination of `LANE` columns, found by jumping to the next in the index. */
function byAttributes(organizationId: string, filter: RunFilter, overlap: number): SearchPlan | undefined {
  const { sources, operations, username, created } = filter
  const statuses = commonStatuses(filter)
  if (!sources && !operations && !statuses && username === undefined) return undefined
  const creator =
    username === undefined
      ? sql``
      : sql`and r.created_by_user_id = (select id from users where lower(username) = ${username})`
  const runs = sql`runs r where r.organization_id = ${organizationId} ${creator}`
  const first = sql`order by ${columnsOf('r')} limit 1`
  const equalities = LANE.map((name) => sql`${sql.ref(`r.${name}`)} = ${sql.ref(`lanes.${name}`)}`)
  const inLane = sql.join(equalities, sql` and `)
  return {
    isInOrder: true,
    covers: ['sources', 'operations', 'statuses', 'groupStatuses', 'username', 'created'],
    runs: (limit) => sql`with recursive lanes as (
        (select ${columnsOf('r')} from ${runs} ${first})
        union all
        select next.* from lanes cross join lateral (
          select ${columnsOf('r')} from ${runs} and (${columnsOf('r')}) > (${columnsOf('lanes')}) ${first}) next)
      select found.id, found.seq from lanes
      cross join lateral (select r.id, r.seq from ${runs} and ${inLane}
          ${created ? createdWithin(organizationId, created, overlap) : sql``}
          order by ${columnsOf('r')}, r.seq desc limit ${limit}) found
      where true ${sources ? sql`and lanes.source = any(${sources}::text[])` : sql``}
        ${operations ? sql`and ${operationCondition('lanes', operations)}` : sql``}
        ${statuses ? sql`and lanes.status = any(${statuses}::text[])` : sql``}
      order by found.seq desc limit ${limit}`,
  }
}

/** The runs of each workspace that the actor sees; undefined if there are too many. */
async function inVisibleWorkspaces(db: Db, actor: Actor, organizationId: string): Promise<SearchPlan | undefined> {
  const { rows } = await sql<{ id: string }>`select w.id from workspaces w where w.organization_id = ${organizationId}
    and ${visibleWorkspace(actor)} limit ${sql.lit(MAX_WORKSPACES + 1)}`.execute(db)
  if (rows.length > MAX_WORKSPACES) return undefined
  return lanes(sql`unnest(${rows.map(({ id }) => id)}::text[]) lane (id)`, { covers: [], ...OF_WORKSPACE })
}

/** The statuses that both filters allow; undefined without such a filter. */
function commonStatuses({ statuses, groupStatuses }: RunFilter) {
  if (!statuses || !groupStatuses) return statuses ?? groupStatuses
  return statuses.filter((status) => groupStatuses.includes(status))
}
