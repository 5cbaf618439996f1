import type { RunGroup } from '@groundstate/contract/runs'
import { type RawBuilder, sql } from 'kysely'
import type { Actor, UserActor } from '../../../auth/actor.ts'
import { grantsColumn } from '../../../auth/facts-sql.ts'
import type { GrantsColumn } from '../../../auth/facts.ts'
import type { Db } from '../../../db/db.ts'
import { containing, wildcard } from '../../../db/like.ts'
import { selectWorkspaces } from './store.ts'

export type WorkspaceFilter = {
  name?: string | undefined
  /** `*` stands for any text. */
  wildcardName?: string | undefined
  projectId?: string | undefined
  /** Tags that a workspace has bound or inherits from its project: all of them, or any with `union`. */
  tagged?: { pairs: readonly TagPair[]; union: boolean } | undefined
  /** Keys that must not be bound to the workspace itself. */
  excludedTags?: readonly string[] | undefined
  runStatuses?: readonly string[] | undefined
  /** Groups of the current run; `none` for workspaces without one. */
  runGroups?: readonly (RunGroup | 'none')[] | undefined
  /** As it is set: `latest`, a version or a constraint. */
  engineVersion?: string | undefined
  locked?: boolean | undefined
  drifted?: boolean | undefined
}
/** Any value when it is null. */
export type TagPair = { key: string; value: string | null }

export const SORTS = ['name', 'latest-change-at', 'current-run.created-at'] as const
export type Sort = { name: (typeof SORTS)[number]; descending: boolean }

/** What the teams of a user are granted on single projects and workspaces of an organization. */
export type Grants = {
  teamIds: readonly string[]
  /** Projects granted as a whole. */
  projectIds: readonly string[]
  /** How many workspaces outside of those projects are granted one by one. */
  direct: number
}

/**
 * The workspaces that an actor may see when it may not see all of the organization. `scan` walks the sorted list and
 * checks each row; `collect` starts from the granted workspaces and sorts them.
 */
export type Reach = Grants & { strategy: 'scan' | 'collect' }

/**
 * How many workspaces the organization has, and how many are in the given projects. The database keeps counts by
 * project.
 */
export async function countByProjects(db: Db, organizationId: string, projectIds: readonly string[]) {
  const { rows } = await sql<{ all: number; granted: number }>`
    select coalesce(sum(workspace_count), 0) as all,
           coalesce(sum(workspace_count) filter (where id = any(${projectIds}::text[])), 0) as granted
      from projects where organization_id = ${organizationId}`.execute(db)
  return rows[0] ?? { all: 0, granted: 0 }
}

export async function findGrants(db: Db, actor: UserActor, organizationId: string): Promise<Grants> {
  const { rows } = await sql<{ team_ids: string[]; project_ids: string[]; direct: number }>`
    with mine as materialized (
      select coalesce(array_agg(t.id), '{}') as ids from team_members tm join teams t on t.id = tm.team_id
       where tm.user_id = ${actor.userId} and t.organization_id = ${organizationId}),
    granted as materialized (
      select coalesce(array_agg(distinct g.project_id), '{}') as ids from team_projects g
       where g.team_id = any((select ids from mine)::text[]))
    select mine.ids as team_ids, granted.ids as project_ids,
           (select count(distinct w.id) from team_workspaces g join workspaces w on w.id = g.workspace_id
             where g.team_id = any(mine.ids) and w.project_id <> all(granted.ids)) as direct
      from mine, granted`.execute(db)
  const [row] = rows
  return { teamIds: row?.team_ids ?? [], projectIds: row?.project_ids ?? [], direct: row?.direct ?? 0 }
}

function matches(actor: Actor, organizationId: string, reach: Reach | undefined, filter: WorkspaceFilter) {
  const conditions = [sql`w.organization_id = ${organizationId}`]
  if (actor.kind === 'run') conditions.push(sql`w.id = ${actor.workspaceId}`)
  if (reach?.strategy === 'scan') {
    // A scalar subquery, since PostgreSQL would answer an EXISTS by collecting every grant first.
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or coalesce((select true
      from team_workspaces g where g.workspace_id = w.id and g.team_id = any(${reach.teamIds}::text[]) limit 1), false))`)
  }
  if (filter.projectId !== undefined) conditions.push(sql`w.project_id = ${filter.projectId}`)
  if (filter.name !== undefined) conditions.push(sql`w.name ilike ${containing(filter.name)}`)
  if (filter.wildcardName !== undefined) conditions.push(sql`w.name ilike ${wildcard(filter.wildcardName)}`)
  if (filter.tagged !== undefined) conditions.push(sql`w.id in (${tagged(organizationId, filter.tagged)})`)
  if (filter.excludedTags !== undefined) {
    conditions.push(sql`not exists (
      select from tag_bindings b where b.workspace_id = w.id and b.key = any(${filter.excludedTags}))`)
  }
  if (filter.runStatuses !== undefined) {
    // The group is in the row, so that a run is read only where it may have one of the statuses.
    conditions.push(sql`(w.run_group = any(array(select run_group(status) from unnest(${filter.runStatuses}::text[]) status))
      and coalesce((select r.status = any(${filter.runStatuses}) from runs r where r.id = w.current_run_id), false))`)
  }
  if (filter.runGroups !== undefined) {
    conditions.push(sql`coalesce(w.run_group, 'none') = any(${filter.runGroups}::text[])`)
  }
  if (filter.engineVersion !== undefined) conditions.push(sql`w.engine_version = ${filter.engineVersion}`)
  if (filter.locked !== undefined) conditions.push(sql`(w.locked_by_type is not null) = ${filter.locked}`)
  if (filter.drifted !== undefined) conditions.push(sql`coalesce(w.has_drift, false) = ${filter.drifted}`)
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/**
 * The ids of workspaces that have the tags bound, or inherit them from their project under a key that they don't bind.
 */
function tagged(organizationId: string, { pairs, union }: { pairs: readonly TagPair[]; union: boolean }) {
  const wanted = sql`unnest(${pairs.map(({ key }) => key)}::text[], ${pairs.map(({ value }) => value)}::text[])
    with ordinality as t(key, value, place) on b.key = t.key and (t.value is null or b.value = t.value)`
  return sql`select m.id from (
      select b.workspace_id as id, t.place from tag_bindings b join ${wanted}
       where b.organization_id = ${organizationId} and b.workspace_id is not null
      union all
      select x.id, t.place from tag_bindings b join ${wanted} join workspaces x on x.project_id = b.project_id
       where b.organization_id = ${organizationId}
         and not exists (select from tag_bindings o where o.workspace_id = x.id and o.key = b.key)) m
    group by m.id having count(distinct m.place) >= ${union ? 1 : pairs.length}`
}

/** The order of a list, with the id last so that pages never overlap. */
function order({ name, descending }: Sort): RawBuilder<unknown> {
  const direction = descending ? sql`desc` : sql`asc`
  if (name === 'name') return sql`w.name ${direction}, w.id ${direction}`
  if (name === 'latest-change-at') return sql`w.latest_change_at ${direction}, w.id ${direction}`
  return sql`w.current_run_created_at ${direction} nulls last, w.id ${direction}`
}

/** The workspaces `w` that a list selects from. Collected ones are few, so they are looked up one by one. */
function candidates(reach: Reach | undefined) {
  if (reach?.strategy !== 'collect') return sql`workspaces w`
  return sql`(select g.workspace_id as id from team_workspaces g where g.team_id = any(${reach.teamIds}::text[])
      union select x.id from workspaces x where x.project_id = any(${reach.projectIds}::text[])) granted
    cross join lateral (select * from workspaces found where found.id = granted.id offset 0) w`
}

type Query = { organizationId: string; reach: Reach | undefined; filter: WorkspaceFilter }

/**
 * One page. The ids are found first, so that nothing else is read for rows that the page leaves out. With `counts` each
 * row has the total of all pages, with `grants` what teams grant on it.
 */
export async function listWorkspaceRows(
  db: Db,
  actor: Actor,
  { organizationId, reach, filter }: Query,
  {
    sort,
    limit,
    offset,
    counts,
    grants,
  }: { sort: Sort; limit: number; offset: number; counts: boolean; grants: boolean },
) {
  // The limit is a literal, and a first page has no offset. Thus PostgreSQL plans for few rows, once for all requests.
  const page = sql<{ id: string; total: number | null }>`(
    select w.id, ${counts ? sql`count(*) over ()` : sql`null::bigint`} as total
      from ${candidates(reach)} where ${matches(actor, organizationId, reach, filter)}
     order by ${order(sort)} limit ${sql.lit(limit)} ${offset === 0 ? sql`` : sql`offset ${offset}`})`
  const subject = { projectId: sql`w.project_id`, workspaceId: sql`w.id` }
  return selectWorkspaces(db)
    .innerJoin(page.as('page'), 'page.id', 'w.id')
    .select('page.total')
    .select((grants ? grantsColumn(actor, subject) : sql<GrantsColumn>`null::jsonb`).as('grants'))
    .orderBy(order(sort))
    .execute()
}

export async function countMatches(db: Db, actor: Actor, { organizationId, reach, filter }: Query) {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ${candidates(reach)} where ${matches(actor, organizationId, reach, filter)}`.execute(
    db,
  )
  return rows[0]?.total ?? 0
}
