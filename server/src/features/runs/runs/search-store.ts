import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import { containing } from '../../../db/like.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { filterCondition } from './filter-store.ts'
import type { RunFilter, RunOperation } from './filter.ts'
import type { RunStatus } from './status.ts'

/** So many runs are looked through in one way before the next way is tried. */
const DEPTH = 2000
/** In more workspaces than these, runs are not collected workspace by workspace. */
const MOST_WORKSPACES = 300

/** Of which runs a page is wanted. */
export type RunSearch = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none has to be checked. */
  seesAll: boolean
  filter: RunFilter | undefined
}

/**
 * A way to the runs that a search may find: at most `limit` of them, as `id` and `seq`. `isInOrder` where they are the newest.
 */
type Way = { isInOrder: boolean; runs: (limit: number) => RawBuilder<unknown> }

/**
 * The ids of a page, the newest first, and one more when there is a next page. Nobody knows beforehand how many runs a filter
 * leaves: where many match, they are among the newest runs of the organization; where few do, an index for one of the conditions has them.
 * Each way is cut off after a bounded number of runs. Only where none of them has ended are all runs read.
 */
export async function findRunIds(db: Db, actor: Actor, search: RunSearch): Promise<string[]> {
  const { filter, seesAll, page } = search
  if (filter?.commit !== undefined) return []
  if (!filter && seesAll) return readAll(db, actor, search)
  const exact = pageOffset(page) + page.size + 1
  const ways = waysTo(search)
  const [only] = ways
  // Whatever it leads to matches.
  if (seesAll && only?.isInOrder && isSingle(filter))
    return (await goWay(db, actor, { search, way: only, limit: exact })).ids

  const enough = ({ ids, is_cut }: Found, isInOrder = true) => !is_cut || (isInOrder && ids.length > page.size)
  const newest = await readNewest(db, actor, search)
  if (enough(newest)) return newest.ids
  for (const way of ways) {
    const found = await goWay(db, actor, { search, way, limit: pageOffset(page) + DEPTH })
    if (enough(found, way.isInOrder)) return found.ids
  }
  const visible = seesAll ? undefined : await inVisibleWorkspaces(db, actor, search)
  if (visible) {
    const limit = filter ? pageOffset(page) + DEPTH : exact
    const found = await goWay(db, actor, { search, way: visible, limit })
    if (enough(found)) return found.ids
  }
  return readAll(db, actor, search)
}

/** The ids of a page, and whether runs may be missing that the search has not come to. */
type Found = { ids: string[]; is_cut: boolean }

async function goWay(
  db: Db,
  actor: Actor,
  { search, way, limit }: { search: RunSearch; way: Way; limit: number },
): Promise<Found> {
  const { rows } = await sql<Found>`with found as materialized (${way.runs(limit)})
    select (select count(*) from found) >= ${limit}::integer as is_cut, array(
      select r.id from found join runs r on r.id = found.id join workspaces w on w.id = r.workspace_id
       where ${matches(actor, search)} order by r.seq desc ${window(search.page)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], is_cut: false }
}

async function readNewest(db: Db, actor: Actor, search: RunSearch): Promise<Found> {
  const { rows } = await sql<Found>`with last as materialized (
      select seq from runs where organization_id = ${search.organizationId}
       order by seq desc offset ${sql.lit(DEPTH)} + ${pageOffset(search.page)}::integer limit 1)
    select exists (select from last) as is_cut, array(
      select r.id from runs r join workspaces w on w.id = r.workspace_id
       where ${matches(actor, search)} and r.seq > coalesce((select seq from last), 0)
       order by r.seq desc ${window(search.page)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], is_cut: false }
}

async function readAll(db: Db, actor: Actor, search: RunSearch) {
  const { rows } = await sql<{ id: string }>`select r.id from runs r join workspaces w on w.id = r.workspace_id
    where ${matches(actor, search)} order by r.seq desc ${window(search.page)}`.execute(db)
  return rows.map(({ id }) => id)
}

function matches(actor: Actor, { organizationId, seesAll, filter }: RunSearch) {
  return sql`r.organization_id = ${organizationId}
    ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`} ${filter ? sql`and ${filterCondition(filter)}` : sql``}`
}

/** The limit is a literal, and a first page has no offset, so that PostgreSQL can tell that it needs few rows. */
function window(page: Page) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + 1)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}

function isSingle(filter: RunFilter | undefined) {
  return Object.values(filter ?? {}).filter((part) => part !== undefined).length === 1
}

/** The ways that a filter opens, those first that are likely to lead to few runs. */
function waysTo({ organizationId, filter = {} }: RunSearch): Way[] {
  const { text, username, agentPoolNames, workspaceNames, changedSince, sources, operations, created } = filter
  const statuses = commonStatuses(filter)
  return [
    text !== undefined && text.length > 2 && withText(organizationId, text),
    username !== undefined &&
      lanes(sql`users lane where lower(lane.username) = ${username}`, {
        runs: sql`runs r where r.organization_id = ${organizationId} and r.created_by_user_id between lane.id and lane.id`,
        order: sql`r.created_by_user_id, r.seq desc`,
      }),
    agentPoolNames &&
      lanes(
        sql`agent_pools lane where lane.organization_id = ${organizationId} and lower(lane.name) = any(${agentPoolNames})`,
        {
          runs: sql`runs r where r.agent_pool_id = lane.id and r.agent_pool_id <> 'apool-builtin'
            and r.organization_id = ${organizationId}`,
        },
      ),
    workspaceNames &&
      lanes(
        sql`workspaces lane where lane.organization_id = ${organizationId} and lower(lane.name) = any(${workspaceNames})`,
        { runs: sql`runs r where r.workspace_id = lane.id`, order: sql`r.number desc` },
      ),
    changedSince && changedLately(organizationId, { changedSince, statuses }),
    (sources || operations) && ofKinds(organizationId, { sources, operations }),
    statuses &&
      lanes(sql`unnest(${statuses}::text[]) lane (status)`, {
        runs: sql`runs r where r.organization_id = ${organizationId} and r.status between lane.status and lane.status`,
        order: sql`r.status, r.seq desc`,
      }),
    created && createdIn(organizationId, created),
  ].filter((way) => typeof way === 'object')
}

/**
 * The newest runs of several sets, each of which an index has in order. A condition is a range where the planner would walk through all runs
 * from the newest on, since it takes the values for common ones; no other index has the order of the range.
 */
function lanes(
  sets: RawBuilder<unknown>,
  { runs, order = sql`r.seq desc` }: { runs: RawBuilder<unknown>; order?: RawBuilder<unknown> },
): Way {
  return {
    isInOrder: true,
    runs: (limit) => sql`select found.id, found.seq from (select * from ${sets}) lane
      cross join lateral (select r.id, r.seq from ${runs} order by ${order} limit ${limit}) found
      order by found.seq desc limit ${limit}`,
  }
}

/** The index knows what has all parts of the text, and the long messages. Where many have them, the newest are not known. */
function withText(organizationId: string, text: string): Way {
  return {
    isInOrder: false,
    runs: (limit) => sql`(select run_id as id, seq from run_keys k
         where (trigrams(message) @> trigrams(${text}) or trigrams(message) @> array['*'])
           and organization_id = ${organizationId} and message ilike ${containing(text)} limit ${limit})
      union select run_id, seq from run_keys where run_id = ${text}`,
  }
}

function changedLately(
  organizationId: string,
  { changedSince, statuses }: { changedSince: Date; statuses: readonly RunStatus[] | undefined },
): Way {
  const isFailed = statuses?.every((status) => status === 'errored') ? sql`and r.status = 'errored'` : sql``
  return {
    isInOrder: false,
    runs: (limit) => sql`select r.id, r.seq from runs r
      where r.organization_id = ${organizationId} and r.updated_at >= ${changedSince} ${isFailed}
      order by r.updated_at desc limit ${limit}`,
  }
}

/** Runs are created in the order of their numbers, but for the moments by which transactions overlap. */
function createdIn(organizationId: string, { from, before }: { from: Date; before?: Date }): Way {
  return {
    isInOrder: true,
    runs: (limit) => sql`select k.run_id as id, k.seq from run_keys k
      where k.organization_id = ${organizationId} and k.created_at >= ${from} ${before ? sql`and k.created_at < ${before}` : sql``}
      order by k.created_at desc limit ${limit}`,
  }
}

/** The values of `run_operations` that an operation has. */
const BITS = { plan_only: 1, save_plan: 2, refresh_only: 4, destroy: 8, empty_apply: 16 } as const
const KINDS = Array.from({ length: 32 }, (_, kind) => kind)

function kindsOf(operations: readonly RunOperation[]) {
  return KINDS.filter((kind) =>
    operations.some((name) => (name === 'plan_and_apply' ? kind === 0 : (kind & BITS[name]) !== 0)),
  )
}

/** Those that the database accepts. */
const SOURCES = [
  'tfe-api',
  'tfe-ui',
  'tfe-configuration-version',
  'tfe-run-trigger',
  'terraform',
  'terraform+cloud',
] as const

function ofKinds(organizationId: string, { sources, operations }: Pick<RunFilter, 'sources' | 'operations'>): Way {
  const kinds = operations ? kindsOf(operations) : KINDS
  return {
    isInOrder: true,
    runs: (limit) => sql`select found.run_id as id, found.seq
      from unnest(${sources ?? SOURCES}::text[]) source (name) cross join unnest(${kinds}::smallint[]) kind (operations)
      cross join lateral (select k.run_id, k.seq from run_keys k where k.organization_id = ${organizationId}
          and k.source = source.name and k.operations = kind.operations order by k.seq desc limit ${limit}) found
      order by found.seq desc limit ${limit}`,
  }
}

/** The runs of each workspace that the actor sees, where these are few. */
async function inVisibleWorkspaces(db: Db, actor: Actor, { organizationId }: RunSearch): Promise<Way | undefined> {
  const { rows } = await sql<{ id: string }>`select w.id from workspaces w
    where w.organization_id = ${organizationId} and ${visibleWorkspace(actor)} limit ${sql.lit(MOST_WORKSPACES + 1)}`.execute(
    db,
  )
  if (rows.length > MOST_WORKSPACES) return undefined
  return lanes(sql`unnest(${rows.map(({ id }) => id)}::text[]) lane (id)`, {
    runs: sql`runs r where r.workspace_id = lane.id`,
    order: sql`r.number desc`,
  })
}

/** The statuses that both filters leave; undefined without such a filter. */
function commonStatuses({ statuses, groupStatuses }: RunFilter) {
  if (!statuses || !groupStatuses) return statuses ?? groupStatuses
  return statuses.filter((status) => groupStatuses.includes(status))
}
