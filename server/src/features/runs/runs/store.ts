import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import {
  type Asker,
  type GrantsColumn,
  grantsColumn,
  userInSql,
  visibleWorkspace,
  workspaceFactsColumn,
} from '../../../auth/facts.ts'
import type { Db } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { RunFilter } from './filters.ts'

import type { WaitingFacts } from '../../workspaces/workspaces/waiting.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

/** An agent that has not asked for work for this long is not counted on, in seconds. */
const AGENT_SILENCE_SECONDS = 60

/** The time since which an agent must have asked for work to be counted on. */
function heardSince(now: Date) {
  return new Date(now.getTime() - AGENT_SILENCE_SECONDS * 1000).toISOString()
}

/** Runs `r` with what their resource shows, in workspaces `w`; `heard` is `heardSince`. */
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
    .select(waitingColumn(heard).as('waiting'))
    .select(stagesColumn.as('task_stages'))
}

/** As `selectRuns`, with the facts about the workspace of each for `actor`. */
function selectRunsFor(db: Db, actor: Asker, heard: string | RawBuilder<string>) {
  return selectRuns(db, heard).select(workspaceFactsColumn(actor).as('facts'))
}

/** The stages of run tasks in their order, and what is open of them; null for a run that has none. */
const stagesColumn = sql<{ ids: string[]; open: { name: string; deadline: string }[] | null } | null>`case
    when r.stages <> '{}' then jsonb_build_object(
      'ids', (select jsonb_agg(id order by position) from task_stages where run_id = r.id),
      'open', case when r.status like '%\\_running' then (
        select jsonb_agg(jsonb_build_object('name', task_name, 'deadline', deadline_at))
          from task_results where run_id = r.id and status = 'running') end)
    end`

/** What holds a run back, read only for runs that wait, or that an agent has under way. */
function waitingColumn(heard: string | RawBuilder<string>) {
  return sql<WaitingFacts | null>`case
    when r.waits then (select jsonb_build_object(
        'lockedBy', case w.locked_by_type
          when 'user' then (select 'user ' || username from users where id = w.locked_by_id)
          when 'team' then (select 'team ' || name from teams where id = w.locked_by_id)
          else w.locked_by_type || ' ' || w.locked_by_id end,
        'lockedByRun', w.locked_by_type = 'run',
        'lockedAt', w.locked_at,
        'lockedReason', w.locked_reason,
        'activeRunId', w.active_run_id,
        'ahead', (select count(*) from runs q
                   where q.workspace_id = r.workspace_id and q.waits and q.queue_order < r.queue_order),
        'previousRunId', (select q.id from runs q
                   where q.workspace_id = r.workspace_id and q.waits and q.queue_order < r.queue_order
                   order by q.queue_order desc limit 1)))
    when r.status in ('plan_queued', 'apply_queued') then (select jsonb_build_object(
        'poolName', p.name,
        'poolIsBuiltIn', p.organization_id is null,
        'agentsOnline', (select count(*) from agents a
                          where a.agent_pool_id = p.id and a.exited_at is null and a.last_ping_at > ${heard}::timestamptz),
        'jobsAhead', (select count(*) from agent_jobs j
                       where j.agent_pool_id = p.id and j.status = 'queued'
                         and j.seq < (select mine.seq from agent_jobs mine
                                       where mine.run_id = r.id and mine.status = 'queued')))
      from agent_pools p where p.id = r.agent_pool_id)
    when r.status in ('planning', 'applying') then (select jsonb_build_object(
        'agentName', a.name, 'leaseExpiresAt', j.lease_expires_at)
      from agent_jobs j left join agents a on a.id = j.agent_id
      where j.run_id = r.id and j.status = 'running' limit 1)
    end`
}

/** What holds back the runs that keep workspaces waiting: of each the one at work, and the first in line. */
export async function listWaiting(db: Db, { workspaceIds, now }: { workspaceIds: readonly string[]; now: Date }) {
  return db
    .selectFrom('workspaces as w')
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('runs')
          .selectAll()
          .where((run) =>
            run.or([
              run('id', '=', run.ref('w.active_run_id')),
              run(
                'id',
                '=',
                run
                  .selectFrom('runs as line')
                  .select('line.id')
                  .whereRef('line.workspace_id', '=', 'w.id')
                  .where('line.waits', '=', sql.lit(true))
                  .orderBy('line.queue_order')
                  .limit(sql.lit(1)),
              ),
            ]),
          )
          .as('r'),
      (join) => join.onTrue(),
    )
    .select(['r.id', 'r.workspace_id'])
    .select(waitingColumn(heardSince(now)).as('waiting'))
    .select(stagesColumn.as('task_stages'))
    .where(sql<boolean>`w.id = any(${workspaceIds})`)
    .orderBy('r.waits')
    .execute()
}

export async function findRun(db: Db, actor: Actor, { id, now }: { id: string; now: Date }) {
  const heard = heardSince(now)
  if (actor.kind !== 'user') return selectRunsFor(db, actor, heard).where('r.id', '=', id).executeTakeFirst()
  return findForUser(db, { userId: actor.userId, heard, id })
}

// Whoever waits for a run asks for it again and again.
const findForUser = lookup(['userId', 'heard', 'id'], (db, { userId, heard, id }) =>
  selectRunsFor(db, userInSql(userId), heard).where('r.id', '=', id),
)

export async function findRuns(db: Db, actor: Actor, { ids, now }: { ids: readonly string[]; now: Date }) {
  return selectRunsFor(db, actor, heardSince(now))
    .where(sql<boolean>`r.id = any(${ids})`)
    .execute()
}

export type FoundRun = NonNullable<Awaited<ReturnType<typeof findRun>>>

/**
 * The ids of a page, found without what their resource shows: that is read for the rows of the page only, however many
 * stand before them.
 */
type PageOfIds = RawBuilder<string[]>

/**
 * The limit is part of the statement, and a first page has no offset: so PostgreSQL knows that it needs few rows without
 * planning each request anew.
 */
function limited(page: Page, more = 0) {
  const offset = pageOffset(page)
  return sql`limit ${sql.lit(page.size + more)} ${offset === 0 ? sql`` : sql`offset ${offset}`}`
}

const onPage = (ids: PageOfIds) => sql<boolean>`r.id = any(array(${ids}))`

/**
 * A page of a workspace's runs, the newest first. They are numbered without gaps, so that as long as nothing is filtered
 * neither the total needs a count nor a late page a walk.
 */
export async function listWorkspaceRuns(
  db: Db,
  { workspaceId, page, filter, now }: { workspaceId: string; page: Page; filter: RunFilter | undefined; now: Date },
) {
  const count = await sql<{ total: number }>`${
    filter
      ? sql`select count(*) as total from runs r join workspaces w on w.id = r.workspace_id
             where r.workspace_id = ${workspaceId} and ${filter}`
      : sql`select coalesce(max(number), 0) as total from runs where workspace_id = ${workspaceId}`
  }`.execute(db)
  const total = count.rows[0]?.total ?? 0
  const offset = pageOffset(page)
  const ids = filter
    ? sql<string[]>`select r.id from runs r join workspaces w on w.id = r.workspace_id
        where r.workspace_id = ${workspaceId} and ${filter} order by r.number desc ${limited(page)}`
    : sql<string[]>`select r.id from runs r
        where r.workspace_id = ${workspaceId} and r.number <= ${total - offset} order by r.number desc limit ${sql.lit(page.size)}`
  const rows = await selectRuns(db, heardSince(now)).where(onPage(ids)).orderBy('r.number', 'desc').execute()
  return { rows, total }
}

type OrganizationList = {
  organizationId: string
  page: Page
  /** The actor sees every workspace of the organization, so that none need be looked at. */
  seesAll: boolean
  /** What teams grant on the workspaces is read beside their runs. */
  grants: boolean
  now: Date
}

/** As `selectRuns`, with what teams grant: the rest of the facts is the same for the whole organization. */
function selectListed(db: Db, actor: Actor, { grants, now }: Pick<OrganizationList, 'grants' | 'now'>) {
  const subject = { projectId: sql`w.project_id`, workspaceId: sql`w.id` }
  return selectRuns(db, heardSince(now)).select(
    (grants ? grantsColumn(actor, subject) : sql<GrantsColumn>`null::jsonb`).as('grants'),
  )
}

/** A page of an organization's runs, the newest first, and one more when there is a next page. */
export async function listOrganizationRuns(
  db: Db,
  actor: Actor,
  { organizationId, page, seesAll, grants, filter, now }: OrganizationList & { filter: RunFilter | undefined },
) {
  const ids = sql<string[]>`select r.id from runs r join workspaces w on w.id = r.workspace_id
    where r.organization_id = ${organizationId}
      ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`}
      ${filter ? sql`and ${filter}` : sql``}
    order by r.seq desc ${limited(page, 1)}`
  return selectListed(db, actor, { grants, now }).where(onPage(ids)).orderBy('r.seq', 'desc').execute()
}

/** In the words of the index over unfinished runs, which counts on them. */
const isUnfinishedOf = (alias: 'r' | 'q') =>
  sql<boolean>`${sql.ref(`${alias}.status`)} not in ('planned_and_finished', 'planned_and_saved', 'applied', 'discarded',
  'canceled', 'force_canceled', 'errored')`
const isUnfinished = isUnfinishedOf('r')
const isWaiting = (alias: 'r' | 'q') =>
  sql<boolean>`(${sql.ref(`${alias}.waits`)} or ${sql.ref(`${alias}.status`)} in ('plan_queued', 'apply_queued'))`

/** Unfinished runs of an organization in the order in which they get their turn; `position` is 0 for those at work. */
export async function listQueue(
  db: Db,
  actor: Actor,
  { organizationId, page, seesAll, grants, now }: OrganizationList,
) {
  const line = sql`from runs r join workspaces w on w.id = r.workspace_id
    where r.organization_id = ${organizationId} and ${isUnfinished}
      ${seesAll ? sql`` : sql`and ${visibleWorkspace(actor)}`}`
  const ids = sql<string[]>`select r.id ${line} order by r.seq ${limited(page)}`
  const rows = await selectListed(db, actor, { grants, now })
    .select(
      sql<number>`case when ${isWaiting('r')} then (select count(*) from runs q
          where q.organization_id = r.organization_id and q.seq <= r.seq and ${isUnfinishedOf('q')}
            and ${isWaiting('q')}) else 0 end`.as('position'),
    )
    .where(onPage(ids))
    .orderBy('r.seq')
    .execute()
  const count = await sql<{ total: number }>`select count(*) as total ${line}`.execute(db)
  return { rows, total: count.rows[0]?.total ?? 0 }
}

/** How many runs of the organization are at work, and how many wait. */
export async function countQueue(db: Db, organizationId: string) {
  return db
    .selectFrom('runs as r')
    .where('r.organization_id', '=', organizationId)
    .where(isUnfinished)
    .select([
      sql<number>`count(*) filter (where ${isWaiting('r')})`.as('pending'),
      sql<number>`count(*) filter (where r.status in ('planning', 'applying'))`.as('running'),
    ])
    .executeTakeFirstOrThrow()
}

export async function findConfiguration(db: Db, { id, workspaceId }: { id: string; workspaceId: string }) {
  return db
    .selectFrom('configuration_versions')
    .select(['id', 'status', 'speculative'])
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

export async function findRunOfConfiguration(
  db: Db,
  actor: Actor,
  { configurationVersionId, now }: { configurationVersionId: string; now: Date },
) {
  return selectRunsFor(db, actor, heardSince(now))
    .where('r.configuration_version_id', '=', configurationVersionId)
    .orderBy('r.seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}
