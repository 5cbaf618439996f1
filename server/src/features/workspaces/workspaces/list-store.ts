import { type RawBuilder, sql } from 'kysely'
import type { GrantsColumn } from '../../../auth/access-context.ts'
import { grantsColumn } from '../../../auth/access-sql.ts'
import type { Actor, UserActor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { type WorkspaceFilter, filterConditions } from './filter-store.ts'
import { selectWorkspaces } from './store.ts'

export const SORTS = ['name', 'latest-change-at', 'current-run.created-at'] as const
export type Sort = { name: (typeof SORTS)[number]; descending: boolean }

/** Grants of a user's teams on single projects and workspaces of an organization. */
export type Grants = {
  teamIds: readonly string[]
  /** Projects granted as a whole. */
  projectIds: readonly string[]
  /** How many workspaces outside of those projects are granted one by one. */
  direct: number
  /** How many workspaces those projects and the organization had when the grants were counted. */
  estimate: { inProjects: number; all: number }
}

/**
 * The workspaces that an actor may see when it may not see all of the organization. `scan` walks the sorted list and
 * checks each row; `collect` starts from the granted workspaces and sorts them; `match` looks at all rows, and knows all grants beforehand.
 */
export type Reach = Grants & { strategy: 'scan' | 'collect' | 'match' }

/** How many workspaces the organization has: an entry of an index is read for each. */
export async function countAll(db: Db, organizationId: string) {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from workspaces where organization_id = ${organizationId}`.execute(db)
  return rows[0]?.total ?? 0
}

export async function countInProjects(db: Db, projectIds: readonly string[]) {
  if (projectIds.length === 0) return 0
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from workspaces where project_id = any(${projectIds}::text[])`.execute(db)
  return rows[0]?.total ?? 0
}

export async function findGrants(db: Db, actor: UserActor, organizationId: string): Promise<Grants> {
  const { rows } = await sql<{
    team_ids: string[]
    project_ids: string[]
    direct: number
    in_projects: number
    all: number
  }>`
    with mine as materialized (
      select coalesce(array_agg(t.id), '{}') as ids from team_members tm join teams t on t.id = tm.team_id
       where tm.user_id = ${actor.userId} and t.organization_id = ${organizationId}),
    granted as materialized (
      select coalesce(array_agg(distinct g.project_id), '{}') as ids from team_projects g
       where g.team_id = any((select ids from mine)::text[]))
    select mine.ids as team_ids, granted.ids as project_ids,
           (select count(distinct w.id) from team_workspaces g join workspaces w on w.id = g.workspace_id
             where g.team_id = any(mine.ids) and w.project_id <> all(granted.ids)) as direct,
           (select count(*) from workspaces w where w.project_id = any(granted.ids)) as in_projects,
           (select count(*) from workspaces w where w.organization_id = ${organizationId}) as all
      from mine, granted`.execute(db)
  const [row] = rows
  return {
    teamIds: row?.team_ids ?? [],
    projectIds: row?.project_ids ?? [],
    direct: row?.direct ?? 0,
    estimate: { inProjects: row?.in_projects ?? 0, all: row?.all ?? 0 },
  }
}

/** On workspaces `w`. */
function matches(actor: Actor, organizationId: string, reach: Reach | undefined, filter: WorkspaceFilter) {
  const conditions = [sql`w.organization_id = ${organizationId}`, ...filterConditions(organizationId, filter)]
  if (actor.kind === 'run') conditions.push(sql`w.id = ${actor.workspaceId}`)
  if (reach?.strategy === 'scan') {
    // A scalar subquery, since PostgreSQL would answer an EXISTS by collecting every grant first.
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or coalesce((select true
      from team_workspaces g where g.workspace_id = w.id and g.team_id = any(${reach.teamIds}::text[]) limit 1), false))`)
  }
  if (reach?.strategy === 'match') {
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or w.id in (
      select g.workspace_id from team_workspaces g where g.team_id = any(${reach.teamIds}::text[])))`)
  }
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Whether an index has all workspaces in the order. One by what locks, states or runs change would be written with each of them. */
export function hasIndex({ name }: Sort) {
  return name === 'name'
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
