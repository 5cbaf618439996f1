import type { Ctx } from '../../../app.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { requireTask } from '../run-tasks/access.ts'
import { listAttachments } from '../run-tasks/list.ts'
import * as store from './store.ts'

export async function listWorkspaceTasks(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listWorkspaceTasks(ctx.db, workspace.id, { limit: page.size, offset: pageOffset(page) })
}

/** Where one task is attached, as far as the actor may see the workspaces. */
export async function listTaskAttachments(ctx: Ctx, taskId: string, page: Page) {
  const task = await requireTask(ctx, taskId, 'run-tasks:read')
  const rows = (await listAttachments(ctx, [task.id])).get(task.id) ?? []
  return { rows: rows.slice(pageOffset(page), pageOffset(page) + page.size), total: rows.length }
}
