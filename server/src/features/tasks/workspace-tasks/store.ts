import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type WorkspaceTaskRow = Selectable<Schema['workspace_tasks']>

export async function listWorkspaceTasks(db: Db, workspaceId: string, page: Page) {
  const all = db.selectFrom('workspace_tasks').where('workspace_id', '=', workspaceId)
  return readPaged(page, all.selectAll().orderBy('created_at').orderBy('id'), all)
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
