import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type WorkspaceTaskRow = Selectable<Schema['workspace_tasks']>

export async function listWorkspaceTasks(db: Db, workspaceId: string, page: Page) {
  const all = db.selectFrom('workspace_tasks').where('workspace_id', '=', workspaceId)
  return readPaged(page, all.selectAll().orderBy('created_at').orderBy('id'), all)
}

export type AttachmentFilter = {
  /** Part of the workspace's name. */
  q: string | undefined
  workspaceIds: readonly string[] | undefined
  sort: { name: 'created-at' | 'workspace-name'; descending: boolean }
}

/** A page of the attachments of a task, except to workspaces that the actor may not see. */
export async function listTaskAttachments(
  db: Db,
  actor: Actor,
  list: AttachmentFilter & { taskId: string; page: Page },
) {
  const { taskId, q, workspaceIds, sort, page } = list
  const all = db
    .selectFrom('workspace_tasks as a')
    .innerJoin('workspaces as w', 'w.id', 'a.workspace_id')
    .where('a.task_id', '=', taskId)
    .where(visibleWorkspace(actor))
    .$if(q !== undefined, (query) => query.where('w.name', 'ilike', containing(q ?? '')))
    .$if(workspaceIds !== undefined, (query) => query.where(sql<boolean>`w.id = any(${workspaceIds})`))
  const direction = sort.descending ? 'desc' : 'asc'
  const sorted = all.selectAll('a').orderBy(sort.name === 'created-at' ? 'a.created_at' : 'w.name', direction)
  return readPaged(page, sorted.orderBy('a.id', direction), all)
}

export async function findWorkspaceTask(db: Db, workspaceId: string, id: string) {
  return db
    .selectFrom('workspace_tasks')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Workspace tasks by id, except those of workspaces that the actor may not see. */
export async function findWorkspaceTasks(db: Db, actor: Actor, ids: readonly string[]) {
  return db
    .selectFrom('workspace_tasks as a')
    .innerJoin('workspaces as w', 'w.id', 'a.workspace_id')
    .selectAll('a')
    .where(sql<boolean>`a.id = any(${ids})`)
    .where(visibleWorkspace(actor))
    .execute()
}

export async function insertWorkspaceTask(db: Db, row: Insertable<Schema['workspace_tasks']>) {
  return db.insertInto('workspace_tasks').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateWorkspaceTask(db: Db, id: string, changes: Updateable<Schema['workspace_tasks']>) {
  return db.updateTable('workspace_tasks').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

export async function deleteWorkspaceTask(db: Db, id: string) {
  await db.deleteFrom('workspace_tasks').where('id', '=', id).execute()
}

export async function findTaskOf(db: Db, organizationId: string, id: string) {
  return db
    .selectFrom('tasks')
    .select(['id', 'name'])
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}
