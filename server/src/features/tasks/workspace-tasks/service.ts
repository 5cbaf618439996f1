import type { CreateWorkspaceTask, UpdateWorkspaceTask } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { type Page, isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { requireTask } from '../run-tasks/access.ts'
import { checkWorkspaceQuota } from '../run-tasks/quotas.ts'
import { type WorkspaceTaskKey, requireWorkspaceTask } from './access.ts'
import * as store from './store.ts'

const RELATION = '/data/relationships/task/data/id'

/** Attaches a task of the organization to a workspace, for future runs. */
export async function createWorkspaceTask(ctx: Ctx, workspaceId: string, input: CreateWorkspaceTask) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'run-tasks:manage')
  const taskId = input.relationships.task.data.id
  const task = await store.findTaskOf(ctx.db, workspace.organization_id, taskId)
  if (!task) throw invalid(`there is no task ${taskId} in the organization`, RELATION)
  const now = ctx.now()
  try {
    return await transact(ctx, async (ctx) => {
      const organization = { id: workspace.organization_id, plan: workspace.organization_plan }
      await checkWorkspaceQuota(ctx, organization, workspace.id)
      const row = await store.insertWorkspaceTask(ctx.db, {
        id: ctx.newId('wstask'),
        workspace_id: workspace.id,
        task_id: task.id,
        enforcement_level: input.attributes['enforcement-level'],
        stages: stagesOf(input.attributes) ?? ['post_plan'],
        created_at: now,
        updated_at: now,
      })
      await recordAudit(ctx, workspaceTaskAudit(workspace, 'create', row))
      return row
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'workspace_tasks_key')) throw error
    throw invalid(`the task ${task.name} is already attached to the workspace ${workspace.name}`, RELATION)
  }
}

export async function listWorkspaceTasks(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listWorkspaceTasks(ctx.db, workspace.id, page)
}

/** The attachments of a task to workspaces that the actor may see. */
export async function listTaskAttachments(ctx: Ctx, taskId: string, list: store.AttachmentFilter & { page: Page }) {
  const task = await requireTask(ctx, taskId, 'run-tasks:read')
  return store.listTaskAttachments(ctx.db, ctx.actor, { taskId: task.id, ...list })
}

export async function updateWorkspaceTask(ctx: Ctx, key: WorkspaceTaskKey, attributes: UpdateWorkspaceTask) {
  const { workspace, ...row } = await requireWorkspaceTask(ctx, key, 'run-tasks:manage')
  const columns = {
    enforcement_level: attributes['enforcement-level'],
    stages: stagesOf(attributes),
    updated_at: ctx.now(),
  }
  const event = workspaceTaskAudit(workspace, 'update', { ...row, changes: attributes })
  return audited(ctx, { ...event, settings: { before: row, columns } }, async (ctx) => {
    const changed = await store.updateWorkspaceTask(ctx.db, row.id, columns)
    if (!changed) throw notFound('workspace task')
    return changed
  })
}

/** Detaches a task. Runs that have not reached its stages continue without it. */
export async function deleteWorkspaceTask(ctx: Ctx, key: WorkspaceTaskKey) {
  const { workspace, ...row } = await requireWorkspaceTask(ctx, key, 'run-tasks:manage')
  const event = workspaceTaskAudit(workspace, 'destroy', row)
  await audited(ctx, event, (ctx) => store.deleteWorkspaceTask(ctx.db, row.id))
}

/** `stages` takes precedence over the older `stage`; clients may send both. */
function stagesOf(attributes: UpdateWorkspaceTask) {
  return attributes.stages ?? (attributes.stage && [attributes.stage])
}

function workspaceTaskAudit(
  workspace: { id: string; organization_id: string },
  action: 'create' | 'update' | 'destroy',
  { id, task_id: task, changes }: Pick<store.WorkspaceTaskRow, 'id' | 'task_id'> & { changes?: UpdateWorkspaceTask },
): AuditEvent {
  return {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'workspace_task', id },
    meta: { workspace: workspace.id, task, changes },
    notices: [{ type: 'workspace-tasks', id, workspace: workspace.id }],
  }
}
