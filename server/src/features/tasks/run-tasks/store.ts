import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type TaskRow = Selectable<Schema['tasks']>
export type TaskChanges = Updateable<Schema['tasks']>

function selectTasks(db: Db) {
  return db
    .selectFrom('tasks as task')
    .innerJoin('organizations as o', 'o.id', 'task.organization_id')
    .leftJoin('agent_pools as pool', 'pool.id', 'task.agent_pool_id')
    .selectAll('task')
    .select(['o.name as organization_name', 'o.plan as organization_plan', 'pool.name as agent_pool_name'])
}

/** A task, with the access context of its organization for `actor`. */
export async function findTask(db: Db, actor: Actor, id: string) {
  return selectTasks(db)
    .select(accessColumn(actor, { organizationId: sql`task.organization_id` }).as('access'))
    .where('task.id', '=', id)
    .executeTakeFirst()
}

type ListTasks = { page: Page; q: string | undefined }

export async function listTasks(db: Db, organizationId: string, { page, q }: ListTasks) {
  const matches = sql<boolean>`task.organization_id = ${organizationId}
    ${q === undefined ? sql`` : sql`and (task.name ilike ${containing(q)} or task.url ilike ${containing(q)})`}`
  const list = selectTasks(db).where(matches).orderBy('task.name').orderBy('task.id')
  return readPaged(page, list, db.selectFrom('tasks as task').where(matches))
}

export async function countTasks(db: Db, organizationId: string) {
  return countOf(db, sql`select count(*) from tasks where organization_id = ${organizationId}`)
}

async function countOf(db: Db, query: RawBuilder<unknown>) {
  const { rows } = await sql<{ count: number }>`${query}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Whether another task of the organization than `id` has this name, ignoring case. */
export async function isNameTaken(db: Db, organizationId: string, { name, id }: { name: string; id?: string }) {
  const other = await db
    .selectFrom('tasks')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(sql`lower(name)`, '=', sql`lower(${name})`)
    .$if(id !== undefined, (query) => query.where('id', '<>', id ?? ''))
    .executeTakeFirst()
  return other !== undefined
}

export async function insertTask(db: Db, row: Insertable<Schema['tasks']>) {
  await db.insertInto('tasks').values(row).execute()
}

export async function updateTask(db: Db, id: string, changes: TaskChanges) {
  return db
    .updateTable('tasks')
    .set(changes)
    .where('id', '=', id)
    .returning(['enabled', 'global_enabled'])
    .executeTakeFirst()
}

export async function deleteTask(db: Db, id: string) {
  await db.deleteFrom('tasks').where('id', '=', id).execute()
}

/** Attachments of tasks. Workspaces that the actor may not see are omitted. */
export async function listAttachments(db: Db, actor: Actor, taskIds: readonly string[]) {
  return db
    .selectFrom('workspace_tasks as a')
    .innerJoin('workspaces as w', 'w.id', 'a.workspace_id')
    .selectAll('a')
    .where(sql<boolean>`a.task_id = any(${taskIds})`)
    .where(visibleWorkspace(actor))
    .orderBy('a.created_at')
    .orderBy('a.id')
    .execute()
}

/** Number of workspaces of the organization with an attached task, except `except`. */
export async function countAttachedWorkspaces(db: Db, organizationId: string, except: string) {
  return countOf(
    db,
    sql`select count(distinct a.workspace_id) from workspace_tasks a join tasks t on t.id = a.task_id
         where t.organization_id = ${organizationId} and a.workspace_id <> ${except}`,
  )
}

export async function countWorkspaces(db: Db, organizationId: string) {
  return countOf(db, sql`select count(*) from workspaces where organization_id = ${organizationId}`)
}

/** The first enabled global task of the organization, by name. */
export async function findGlobalTask(db: Db, organizationId: string) {
  return db
    .selectFrom('tasks')
    .select('name')
    .where('organization_id', '=', organizationId)
    .where('enabled', '=', sql.lit(true))
    .where('global_enabled', '=', sql.lit(true))
    .orderBy('name')
    .limit(1)
    .executeTakeFirst()
}

/** Serialises changes that count against the organization's quotas. */
export async function lockOrganization(tx: Tx, id: string) {
  await tx.selectFrom('organizations').select('id').where('id', '=', id).forNoKeyUpdate().execute()
}

/** Query for the enabled tasks of a workspace's runs, attached or global. A task that is both is one row with the stages of both. */
export function selectEffectiveTasks(db: Db, workspace: { id: string; organization_id: string }) {
  return db
    .selectFrom('tasks as t')
    .leftJoin('workspace_tasks as a', (join) =>
      join.onRef('a.task_id', '=', 't.id').on('a.workspace_id', '=', workspace.id),
    )
    .select(['t.id', 't.name', 't.url', 't.agent_pool_id', 't.global_enabled', 't.global_stages'])
    .select(['t.global_enforcement_level', 'a.id as workspace_task_id', 'a.stages', 'a.enforcement_level'])
    .where('t.organization_id', '=', workspace.organization_id)
    .where('t.enabled', '=', sql.lit(true))
    .where((eb) => eb.or([eb('a.id', 'is not', null), eb('t.global_enabled', '=', sql.lit(true))]))
    .orderBy('t.name')
}
