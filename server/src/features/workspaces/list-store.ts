import { type RawBuilder, sql } from 'kysely'
import type { Actor, UserActor } from '../../auth/actor.ts'
import { grantsColumn } from '../../auth/facts.ts'
import { containing, wildcard } from '../../db/like.ts'
import type { Db } from '../../db/db.ts'
import { selectWorkspaces } from './store.ts'

export type WorkspaceFilter = {
  name?: string | undefined
  /** `*` stands for any text. */
  wildcardName?: string | undefined
  projectId?: string | undefined
  /** Tags that a workspace has, by itself or from its project: all of them, or any with `union`. */
  tagged?: { pairs: readonly TagPair[]; union: boolean } | undefined
  /** Keys that a workspace must not have bound itself. */
  excludedTags?: readonly string[] | undefined
  runStatuses?: readonly string[] | undefined
}
/** Any value when it is null. */
export type TagPair = { key: string; value: string | null }

export const SORTS = ['name', 'latest-change-at', 'current-run.created-at'] as const
export type Sort = { name: (typeof SORTS)[number]; descending: boolean }

/**
 * Which workspaces an actor without a view of the whole organization sees. `scan` walks the list in its order and looks
 * at each row; `collect` starts from what is granted and sorts that.
 */
export type Reach = { strategy: 'scan' | 'collect'; projectIds: readonly string[]; teamIds: readonly string[] }

/** How many workspaces the organization has, from the counts that the database keeps by project. */
export async function countAll(db: Db, organizationId: string) {
  const row = await db
    .selectFrom('projects')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('workspace_count'), sql<number>`0`).as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return row.total
}

/** What the teams of the user reach in the organization, and how many workspaces that is. */
export async function findReach(db: Db, actor: UserActor, organizationId: string) {
  const { rows } = await sql<{ team_ids: string[]; project_ids: string[]; visible: number; total: number }>`
    with mine as materialized (
      select coalesce(array_agg(t.id), '{}') as ids from team_members tm join teams t on t.id = tm.team_id
       where tm.user_id = ${actor.userId} and t.organization_id = ${organizationId}),
    granted as materialized (
      select coalesce(array_agg(distinct g.project_id), '{}') as ids from team_projects g
       where g.team_id = any((select ids from mine)::text[]))
    select mine.ids as team_ids, granted.ids as project_ids,
           (select coalesce(sum(p.workspace_count), 0) from projects p where p.id = any(granted.ids))
           + case when cardinality(granted.ids) = 0
               then (select count(distinct g.workspace_id) from team_workspaces g where g.team_id = any(mine.ids))
               else (select count(distinct w.id) from team_workspaces g join workspaces w on w.id = g.workspace_id
                      where g.team_id = any(mine.ids) and w.project_id <> all(granted.ids)) end as visible,
           (select coalesce(sum(p.workspace_count), 0) from projects p where p.organization_id = ${organizationId}) as total
      from mine, granted`.execute(db)
  const [row] = rows
  if (!row) throw new Error('an aggregate always has a row')
  return { teamIds: row.team_ids, projectIds: row.project_ids, visible: row.visible, total: row.total }
}

function matches(actor: Actor, organizationId: string, reach: Reach | undefined, filter: WorkspaceFilter) {
  const conditions = [sql`w.organization_id = ${organizationId}`]
  if (actor.kind === 'run') conditions.push(sql`w.id = ${actor.workspaceId}`)
  if (reach?.strategy === 'scan') {
    conditions.push(sql`(w.project_id = any(${reach.projectIds}::text[]) or exists (
      select from team_workspaces g where g.workspace_id = w.id and g.team_id = any(${reach.teamIds}::text[])))`)
  }
  if (reach?.strategy === 'collect') {
    conditions.push(sql`w.id in (
      select g.workspace_id from team_workspaces g where g.team_id = any(${reach.teamIds}::text[])
      union select x.id from workspaces x where x.project_id = any(${reach.projectIds}::text[]))`)
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
    conditions.push(sql`exists (
      select from runs r where r.id = w.current_run_id and r.status = any(${filter.runStatuses}))`)
  }
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** Ids of the workspaces that have the tags themselves, or from their project under a key that they have not bound. */
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

/** The order of a list, with the id last so that pages never overlap. `current` is the current run's row. */
function order({ name, descending }: Sort): RawBuilder<unknown> {
  const direction = descending ? sql`desc` : sql`asc`
  if (name === 'name') return sql`w.name ${direction}, w.id ${direction}`
  if (name === 'latest-change-at') return sql`w.latest_change_at ${direction}, w.id ${direction}`
  return sql`(select r.created_at from runs r where r.id = w.current_run_id) ${direction} nulls last, w.id ${direction}`
}

type Query = { organizationId: string; reach: Reach | undefined; filter: WorkspaceFilter }

/** One page. The ids are found first, so that nothing else is read for rows that the page leaves out. */
export async function listPage(
  db: Db,
  actor: Actor,
  { organizationId, reach, filter }: Query,
  { sort, limit, offset }: { sort: Sort; limit: number; offset: number },
) {
  return selectWorkspaces(db)
    .select(grantsColumn(actor, { projectId: sql`w.project_id`, workspaceId: sql`w.id` }).as('grants'))
    .where(
      'w.id',
      'in',
      sql<string>`(select w.id from workspaces w where ${matches(actor, organizationId, reach, filter)}
        order by ${order(sort)} limit ${limit} offset ${offset})`,
    )
    .orderBy(order(sort))
    .execute()
}

export async function countMatches(db: Db, actor: Actor, { organizationId, reach, filter }: Query) {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from workspaces w where ${matches(actor, organizationId, reach, filter)}`.execute(db)
  return rows[0]?.total ?? 0
}
