import { type Insertable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject } from '../../../auth/visibility.ts'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, lowered } from '../../../db/sql.ts'

function selectProjects(db: Db) {
  return db
    .selectFrom('projects as p')
    .innerJoin('organizations as o', 'o.id', 'p.organization_id')
    .selectAll('p')
    .select([
      'o.name as organization_name',
      'o.default_project_id',
      'o.default_execution_mode as organization_execution_mode',
      'o.default_agent_pool_id as organization_agent_pool_id',
    ])
}

function access(actor: Actor) {
  return accessColumn(actor, { organizationId: sql`p.organization_id`, projectId: sql`p.id` }).as('access')
}

export async function findProject(db: Db, actor: Actor, id: string) {
  return selectProjects(db).select(access(actor)).where('p.id', '=', id).executeTakeFirst()
}

/** Counts for responses with projects. Costly: reads an index entry of each of their workspaces. */
export async function countInProjects(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('projects as p')
    .select([
      'p.id',
      sql<number>`(select count(*) from team_projects g where g.project_id = p.id)`.as('team_count'),
      sql<number>`(select count(*) from workspaces w where w.project_id = p.id)`.as('workspace_count'),
    ])
    .where(sql<boolean>`p.id = any(${ids})`)
    .execute()
}

export async function findProjects(db: Db, actor: Actor, ids: readonly string[]) {
  return selectProjects(db)
    .select(access(actor))
    .where(sql<boolean>`p.id = any(${ids})`)
    .orderBy('p.name')
    .orderBy('p.id')
    .execute()
}

export type ProjectFilter = {
  organizationId: string
  /** Undefined for an actor that sees all projects. */
  userId: string | undefined
  names: readonly string[] | undefined
  q: string | undefined
  /** All of these must be granted to the user on the project itself. */
  granted: readonly { userId: string; permission: GrantedPermission }[]
}

type ListProjects = ProjectFilter & { page: Page; descending: boolean }

export async function listProjects(db: Db, actor: Actor, { page, descending, ...filter }: ListProjects) {
  const ofUser = sql`and p.id in (
      select g.project_id from team_projects g join team_members m on m.team_id = g.team_id
       where m.user_id = ${filter.userId})`
  const granted = filter.granted.map(({ userId, permission }) => sql`and ${grants(userId, permission)}`)
  const matches = sql<boolean>`p.organization_id = ${filter.organizationId}
    ${actor.kind === 'run' ? sql`and ${visibleProject(actor)}` : sql``}
    ${filter.userId === undefined ? sql`` : ofUser}
    ${sql.join(granted, sql` `)}
    ${filter.names === undefined ? sql`` : sql`and lower(p.name) in ${lowered(filter.names)}`}
    ${filter.q === undefined ? sql`` : sql`and p.name ilike ${containing(filter.q)}`}`
  const direction = descending ? 'desc' : 'asc'
  const list = selectProjects(db).select(access(actor)).where(matches)
  const ordered = list.orderBy('p.name', direction).orderBy('p.id', direction)
  return readPaged(page, ordered, db.selectFrom('projects as p').where(matches))
}

const GRANTING = {
  'project:update': sql`g.access = 'admin' or (g.access = 'custom' and g.project_settings <> 'read')`,
  'workspaces:create': sql`g.access in ('admin', 'maintain') or (g.access = 'custom' and g.workspace_create)`,
} as const

/** SQL condition: a team of the user grants the permission on the project `p`. Corresponds to `projectPermissions`. */
function grants(userId: string, permission: GrantedPermission) {
  return sql`exists (select from team_projects g join team_members m on m.team_id = g.team_id
    where g.project_id = p.id and m.user_id = ${userId} and (${GRANTING[permission]}))`
}

export type GrantedPermission = keyof typeof GRANTING

export async function insertProject(db: Db, row: Insertable<Schema['projects']>) {
  return db.insertInto('projects').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateProject(db: Db, id: string, changes: Updateable<Schema['projects']>) {
  await db.updateTable('projects').set(changes).where('id', '=', id).execute()
}

export async function deleteProject(db: Db, id: string) {
  await db.deleteFrom('projects').where('id', '=', id).execute()
}
