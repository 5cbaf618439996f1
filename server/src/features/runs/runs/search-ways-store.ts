import { RUN_GROUPS, type RunStatus } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import { literals } from '../../../db/literals.ts'
import { createdCondition, OPERATION_FLAGS, operationCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { mayContainText } from './message-store.ts'

/** In more workspaces than these, runs are not collected workspace by workspace. */
const MOST_WORKSPACES = 300

/**
 * A way to the runs that a search may find: at most `limit` of them, as `id` and `seq`. `isInOrder` where they are the newest; `covers`
 * names the parts of the filter that all of them match.
 */
export type Way = {
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
export function waysTo(organizationId: string, filter: RunFilter, overlap: number): Way[] {
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
  ].filter((way) => typeof way === 'object')
}

/** The newest runs of several sets, each of which an index has in order. */
function lanes(
  sets: RawBuilder<unknown>,
  {
    covers,
    runs,
    order = sql`r.seq desc`,
  }: Pick<Way, 'covers'> & { runs: RawBuilder<unknown>; order?: RawBuilder<unknown> },
): Way {
  return {
    isInOrder: true,
    covers,
    runs: (limit) => sql`select found.id, found.seq from (select * from ${sets}) lane
      cross join lateral (select r.id, r.seq from ${runs} order by ${order} limit ${limit}) found
      order by found.seq desc limit ${limit}`,
  }
}

/**
 * The runs whose words may have the text; where there are many, the newest are not known. A run with this id is found beside them. The
 * organization is no condition of an index here: PostgreSQL would collect all of its runs too.
 */
function withText(organizationId: string, text: string): Way {
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
): Way {
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
function createdIn(organizationId: string, created: Created, overlap: number): Way {
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
function ofKinds(organizationId: string, filter: RunFilter, overlap: number): Way | undefined {
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
export async function inVisibleWorkspaces(db: Db, actor: Actor, organizationId: string): Promise<Way | undefined> {
  const { rows } = await sql<{ id: string }>`select w.id from workspaces w
    where w.organization_id = ${organizationId} and ${visibleWorkspace(actor)} limit ${sql.lit(MOST_WORKSPACES + 1)}`.execute(
    db,
  )
  if (rows.length > MOST_WORKSPACES) return undefined
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
