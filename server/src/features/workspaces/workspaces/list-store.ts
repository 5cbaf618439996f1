import { type RawBuilder, sql } from 'kysely'
import type { GrantsColumn } from '../../../auth/access-context.ts'
import { grantsColumn } from '../../../auth/access-sql.ts'
import type { Actor, UserActor } from '../../../auth/actor.ts'
import type { Db } from '../../../db/db.ts'
import { type WorkspaceFilter, filterConditions } from './filter-store.ts'
import { countRows, selectWorkspaces } from './store.ts'

export const SORTS = ['name', 'latest-change-at', 'current-run.created-at'] as const
export type Sort = { name: (typeof SORTS)[number]; descending: boolean }

/** Grants of a user's teams in an organization; `inProjects` and `all` are the numbers of workspaces at that time. */
export type Grants = {
  teamIds: readonly string[]
  /** Projects granted as a whole. */
  projectIds: readonly string[]
  /** Number of workspaces granted one by one, outside of those projects. */
  direct: number
  inProjects: number
  all: number
}

/**
 * The workspaces that an actor may see when it may not see all of the organization. `scan` walks the sorted list and checks each row;
 * `collect` starts from the granted workspaces and sorts them; `match` filters all rows by a set of all grants.
 */
export type Reach = Grants & { strategy: 'scan' | 'collect' | 'match' }

/** The number of workspaces of the organization; reads one index entry for each. */
export async function countAll(db: Db, organizationId: string) {
  return countRows(db, sql`workspaces where organization_id = ${organizationId}`)
}

export async function countInProjects(db: Db, projectIds: readonly string[]) {
  if (projectIds.length === 0) return 0
  return countRows(db, sql`workspaces where project_id = any(${projectIds}::text[])`)
}

export async function findGrants(db: Db, actor: UserActor, organizationId: string): Promise<Grants> {
  const { rows } = await sql<Grants>`
    with mine as materialized (
      select coalesce(array_agg(t.id), '{}') as ids from team_members tm join teams t on t.id = tm.team_id
       where tm.user_id = ${actor.userId} and t.organization_id = ${organizationId}),
    granted as materialized (
      select coalesce(array_agg(distinct g.project_id), '{}') as ids from team_projects g
       where g.team_id = any((select ids from mine)::text[]))
    select mine.ids as "teamIds", granted.ids as "projectIds",
           (select count(distinct w.id) from team_workspaces g join workspaces w on w.id = g.workspace_id
             where g.team_id = any(mine.ids) and w.project_id <> all(granted.ids)) as direct,
           (select count(*) from workspaces w where w.project_id = any(granted.ids)) as "inProjects",
           (select count(*) from workspaces w where w.organization_id = ${organizationId}) as all
      from mine, granted`.execute(db)
  return rows[0] ?? { teamIds: [], projectIds: [], direct: 0, inProjects: 0, all: 0 }
}

function matches(actor: Actor, organizationId: string, reach: Reach | undefined, filter: WorkspaceFilter) {
  const conditions = [sql`w.organization_id = ${organizationId}`, ...filterConditions(organizationId, filter)]
  if (actor.kind === 'run') conditions.push(sql`w.id = ${actor.workspaceId}`)
  if (reach?.strategy === 'scan') {
    // A scalar subquery: for an EXISTS, PostgreSQL would collect all grants first.
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or coalesce((select true
      from team_workspaces g where g.workspace_id = w.id and g.team_id = any(${reach.teamIds}::text[]) limit 1), false))`)
  }
  if (reach?.strategy === 'match') {
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or w.id in (
      select g.workspace_id from team_workspaces g where g.team_id = any(${reach.teamIds}::text[])))`)
  }
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Whether an index has this order. Locks, states and runs would have to update an index on any other column. */
export function hasIndex({ name }: Sort) {
  return name === 'name'
}

/** The order of a list; the id breaks ties, so that pages never overlap. */
function order({ name, descending }: Sort): RawBuilder<unknown> {
  const direction = descending ? sql`desc` : sql`asc`
  if (name === 'name') return sql`w.name ${direction}, w.id ${direction}`
  if (name === 'latest-change-at') return sql`w.latest_change_at ${direction}, w.id ${direction}`
  return sql`w.current_run_created_at ${direction} nulls last, w.id ${direction}`
}

/** The workspaces `w` that a list selects from. Collected workspaces are few, so they are looked up one by one. */
function candidates(reach: Reach | undefined) {
  if (reach?.strategy !== 'collect') return sql`workspaces w`
  return sql`(select g.workspace_id as id from team_workspaces g where g.team_id = any(${reach.teamIds}::text[])
      union select x.id from workspaces x where x.project_id = any(${reach.projectIds}::text[])) granted
    cross join lateral (select * from workspaces match where match.id = granted.id offset 0) w`
}

export type ListQuery = { organizationId: string; reach: Reach | undefined; filter: WorkspaceFilter }
type RowOptions = { sort: Sort; limit: number; offset: number; counts: boolean; grants: boolean }

/** One page. Selects the ids first. `counts` adds the total to each row, `grants` the grants of teams. */
export async function listWorkspaceRows(
  db: Db,
  actor: Actor,
  { organizationId, reach, filter }: ListQuery,
  { sort, limit, offset, counts, grants }: RowOptions,
) {
  // The limit is a literal and the first page has no offset, so that PostgreSQL plans for few rows, once for all requests.
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

export async function countMatches(db: Db, actor: Actor, { organizationId, reach, filter }: ListQuery) {
  return countRows(db, sql`${candidates(reach)} where ${matches(actor, organizationId, reach, filter)}`)
}
