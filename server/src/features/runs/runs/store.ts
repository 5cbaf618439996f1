import { EXECUTING_STATUSES, QUEUED_STATUSES, type RunStatus } from '@groundstate/contract/run-status'
import { type RawBuilder, sql } from 'kysely'
import { type GrantsColumn, shareAccess } from '../../../auth/access-context.ts'
import {
  type ActorInSql,
  grantsColumn,
  sharedAccessColumn,
  userInSql,
  workspaceAccessColumn,
} from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { literals } from '../../../db/sql.ts'
import { heardSince, stagesColumn, waitingColumn } from '../../workspaces/workspaces/waiting-store.ts'
import { filterCondition, isInPools, isUnfinished, pageWindow, statusCondition } from './filter-store.ts'
import type { RunFilter } from './filter.ts'
import { findFewRunIds, findRunIds } from './search-store.ts'

/** Number of newest comments and events in the relationships of a run; the lists have all. */
const MAX_COMMENTS = 100
const MAX_EVENTS = 100

/** Runs `r` with the columns of their resource, in workspaces `w`; `heard` is `heardSince`. */
function selectRuns(db: Db, heard: string | RawBuilder<string>) {
  return db
    .selectFrom('runs as r')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('phases as plan', (join) =>
      join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', sql.lit('plan' as const)),
    )
    .innerJoin('phases as apply', (join) =>
      join.onRef('apply.run_id', '=', 'r.id').on('apply.kind', '=', sql.lit('apply' as const)),
    )
    .selectAll('r')
    .select([
      'plan.id as plan_id',
      'plan.status as plan_status',
      'apply.id as apply_id',
      'w.name as workspace_name',
      'w.current_state_version_id',
      'o.name as organization_name',
    ])
    .select([
      sql<string | null>`(select cause.name from workspaces cause where cause.id = r.triggering_workspace_id)`.as(
        'triggering_workspace_name',
      ),
      // Avoids the lookup for runs without a cause.
      sql<string[]>`case when r.triggering_run_id is null then '{}'::text[]
          else array(select f.source_run_id from trigger_firings f where f.run_id = r.id order by f.id) end`.as(
        'triggering_run_ids',
      ),
    ])
    .select([
      sql<string[]>`array(select last.id from (
          select c.id, c.seq from comments c where c.run_id = r.id order by c.seq desc limit ${sql.lit(MAX_COMMENTS)}) last
        order by last.seq)`.as('comment_ids'),
      waitingColumn(heard).as('waiting'),
      stagesColumn.as('task_stages'),
    ])
}

/** As `selectRuns`, with the actor's access to each workspace. */
function selectRunsFor(db: Db, actor: ActorInSql, heard: string | RawBuilder<string>) {
  return selectRuns(db, heard).select(workspaceAccessColumn(actor).as('access'))
}

const eventIds = sql<string[]>`array(select last.id from (
    select e.id, e.seq from run_events e where e.run_id = r.id order by e.seq desc limit ${sql.lit(MAX_EVENTS)}) last
  order by last.seq)`

/** As `selectRunsFor`, with the events, for which lists have only links. */
function selectOneRun(db: Db, actor: ActorInSql, { heard, id }: Record<'heard' | 'id', string | RawBuilder<string>>) {
  return selectRunsFor(db, actor, heard).select(eventIds.as('run_event_ids')).where('r.id', '=', id)
}

export async function findRun(db: Db, actor: Actor, { id, now }: { id: string; now: Date }) {
  const heard = heardSince(now)
  if (actor.kind !== 'user') return selectOneRun(db, actor, { heard, id }).executeTakeFirst()
  return findForUser(db, { userId: actor.userId, heard, id })
}

// Clients poll runs: concurrent requests share a statement.
const findForUser = lookup(['userId', 'heard', 'id'], (db, { userId, heard, id }) =>
  selectOneRun(db, userInSql(userId), { heard, id }),
)

type OneRun = NonNullable<Awaited<ReturnType<typeof findRun>>>

/** The ids of events are those of a single run. */
export type FoundRun = Omit<OneRun, 'run_event_ids'> & Partial<Pick<OneRun, 'run_event_ids'>>

type Runs = { ids: readonly string[] | RawBuilder<string[]>; now: Date }

export async function findRuns(db: Db, actor: Actor, { ids, now }: Runs) {
  const rows = await selectRuns(db, heardSince(now))
    .select(sharedAccessColumn(actor).as('access'))
    .where(sql<boolean>`r.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

type Versions = { versionIds: readonly string[]; now: Date }

export async function findRunsOfConfigurations(db: Db, actor: Actor, { versionIds, now }: Versions) {
  const ids = sql<string[]>`array(select (select last.id from runs as last
      where last.configuration_version_id = version order by last.seq desc limit 1)
    from unnest(${versionIds}::text[]) version)`
  return findRuns(db, actor, { ids, now })
}

/* Lists find the ids of a page first, so that columns are read for these runs only. */

type WorkspaceList = { organizationId: string; workspaceId: string; page: Page; filter: RunFilter | undefined }

/** For workspaces with at most this many runs, scanning them is as fast as a search. */
const MAX_SCANNED = 2000

/** A page of a workspace's runs, newest first. Runs are numbered without gaps, so totals and late pages are cheap. */
export async function listWorkspaceRuns(db: Db, { filter, now, ...list }: WorkspaceList & { now: Date }) {
  const last = await sql<{ number: number }>`select coalesce(max(number), 0) as number from runs
    where workspace_id = ${list.workspaceId}`.execute(db)
  const count = last.rows[0]?.number ?? 0
  const { ids, total } = filter
    ? (count > MAX_SCANNED && (await findFewRunIds(db, { ...list, filter }))) ||
      (await scanWorkspace(db, { ...list, filter }))
    : { ids: await findNumbered(db, list, count), total: count }
  const rows = await selectRuns(db, heardSince(now))
    .where(sql<boolean>`r.id = any(${ids})`)
    .orderBy('r.number', 'desc')
    .execute()
  return { rows, total }
}

async function findNumbered(db: Db, { workspaceId, page }: Omit<WorkspaceList, 'filter'>, last: number) {
  const { rows } = await sql<{ id: string }>`select r.id from runs r
    where r.workspace_id = ${workspaceId} and r.number <= ${last - pageOffset(page)}
    order by r.number desc limit ${sql.lit(page.size)}`.execute(db)
  return rows.map(({ id }) => id)
}

async function scanWorkspace(db: Db, { workspaceId, page, filter }: WorkspaceList & { filter: RunFilter }) {
  const matching = sql`runs r join workspaces w on w.id = r.workspace_id
    where r.workspace_id = ${workspaceId} and ${filterCondition(filter)}`
  const { rows } = await sql<{ ids: string[]; total: number }>`select (select count(*) from ${matching}) as total,
    array(select r.id from ${matching} order by r.number desc ${pageWindow(page)}) as ids`.execute(db)
  return rows[0] ?? { ids: [], total: 0 }
}

type OrganizationList = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so none has to be checked. */
  seesAll: boolean
  /** Whether the response depends on team access to each workspace. */
  grants: boolean
  now: Date
}

type FilteredList = OrganizationList & { filter: RunFilter | undefined }
type QueueList = OrganizationList & { statuses: readonly RunStatus[] | undefined }

/** As `selectRuns`, with team access to each workspace. The rest of the access context is that of the organization. */
function selectListed(db: Db, actor: Actor, { grants, now }: Pick<OrganizationList, 'grants' | 'now'>) {
  const subject = { projectId: sql`w.project_id`, workspaceId: sql`w.id` }
  const column = grants ? grantsColumn(actor, subject) : sql<GrantsColumn>`null::jsonb`
  return selectRuns(db, heardSince(now)).select(column.as('grants'))
}

/** A page of an organization's runs, newest first, and one more if there is a next page. */
export async function listOrganizationRuns(db: Db, actor: Actor, { grants, now, ...search }: FilteredList) {
  const ids = await findRunIds(db, actor, search)
  const query = selectListed(db, actor, { grants, now }).where(sql<boolean>`r.id = any(${ids})`)
  return query.orderBy('r.seq', 'desc').execute()
}

const isWaiting = sql<boolean>`(r.waits or r.status in (${literals(QUEUED_STATUSES)}))`
const isExecuting = sql<boolean>`r.status in (${literals(EXECUTING_STATUSES)})`

/** `position` counts executing runs first, since the CLI subtracts their number; 0 for runs that do not wait. */
export async function listQueue(db: Db, actor: Actor, list: QueueList) {
  const { organizationId, page, seesAll, statuses } = list
  // Without the join a count reads only an index.
  const unfinished = sql`from runs r ${seesAll ? sql`` : sql`join workspaces w on w.id = r.workspace_id`}
    where r.organization_id = ${organizationId} and ${isUnfinished}
      ${statuses ? sql`and ${statusCondition(statuses)}` : sql``}
      ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`}`
  const isOnPage = sql<boolean>`r.id = any(array(select r.id ${unfinished} order by r.seq ${pageWindow(page)}))`
  const rows = await selectListed(db, actor, list).where(isOnPage).orderBy('r.seq').execute()
  const count = await sql<{ total: number }>`select count(*) as total ${unfinished}`.execute(db)
  const ids = rows.map(({ id }) => id)
  const positions = await findPositions(db, organizationId, ids)
  return {
    rows: rows.map((row) => ({ ...row, position: positions.get(row.id) ?? 0 })),
    total: count.rows[0]?.total ?? 0,
  }
}

/** The queue positions of the runs that wait. Later runs are not read. */
async function findPositions(db: Db, organizationId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, number>()
  const { rows } = await sql<{ id: string; position: number }>`select id, executing + place as position from (
      select r.id, ${isWaiting} as is_waiting, count(*) filter (where ${isWaiting}) over (order by r.seq) as place
        from runs r where r.organization_id = ${organizationId} and ${isUnfinished}
         and r.seq <= (select max(last.seq) from runs last where last.id = any(${ids}))) placed
    cross join (select count(*) as executing from runs r where r.organization_id = ${organizationId} and ${isExecuting}) e
    where is_waiting and id = any(${ids})`.execute(db)
  return new Map(rows.map(({ id, position }) => [id, position]))
}

/** Counts the waiting and the executing runs of the organization, or of its pools with these names; `limit` is its run concurrency. */
export async function countQueue(db: Db, organizationId: string, agentPoolNames: readonly string[] | undefined) {
  return db
    .selectFrom('runs as r')
    .where('r.organization_id', '=', organizationId)
    .where(isUnfinished)
    .$if(agentPoolNames !== undefined, (query) => query.where(isInPools(organizationId, agentPoolNames ?? [])))
    .select([
      sql<number>`count(*) filter (where ${isWaiting})`.as('pending'),
      sql<number>`count(*) filter (where r.status in (${literals(QUEUED_STATUSES)}))`.as('queued'),
      sql<number>`count(*) filter (where ${isExecuting})`.as('running'),
      sql<number | null>`(select run_concurrency from organizations where id = ${organizationId})`.as('limit'),
    ])
    .executeTakeFirstOrThrow()
}
