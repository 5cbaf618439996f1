import type { CreateWorkspaceTask, UpdateWorkspaceTask } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireWorkspace, type Workspace } from '../../workspaces/workspaces/service.ts'
import { checkWorkspaceQuota } from './quota.ts'
import * as store from './workspace-tasks-store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

export async function listWorkspaceTasks(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listWorkspaceTasks(ctx.db, workspace.id, { limit: page.size, offset: pageOffset(page) })
}

export async function showWorkspaceTask(ctx: Ctx, workspaceId: string, id: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return found(await store.findWorkspaceTask(ctx.db, workspace.id, id))
}

/** Attaches a task of the organization to a workspace. It counts for runs that are made from now on. */
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
    throw invalid(`the task ${task.name} is attached to the workspace ${workspace.name} already`, RELATION)
  }
}

export async function updateWorkspaceTask(
  ctx: Ctx,
  key: { workspaceId: string; id: string },
  attributes: UpdateWorkspaceTask,
) {
  const workspace = await requireWorkspace(ctx, key.workspaceId, 'run-tasks:manage')
  const row = found(await store.findWorkspaceTask(ctx.db, workspace.id, key.id))
  return audited(ctx, workspaceTaskAudit(workspace, 'update', { ...row, changes: attributes }), async (ctx) =>
    found(
      await store.updateWorkspaceTask(ctx.db, row.id, {
        enforcement_level: attributes['enforcement-level'],
        stages: stagesOf(attributes),
        updated_at: ctx.now(),
      }),
    ),
  )
}

/** Detaches a task. Runs that have not reached its stages go on without it. */
export async function deleteWorkspaceTask(ctx: Ctx, workspaceId: string, id: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'run-tasks:manage')
  const row = found(await store.findWorkspaceTask(ctx.db, workspace.id, id))
  const event = workspaceTaskAudit(workspace, 'destroy', row)
  await audited(ctx, event, (ctx) => store.deleteWorkspaceTask(ctx.db, row.id))
}

function workspaceTaskAudit(
  workspace: Workspace,
  action: string,
  { id, task_id: task, changes }: { id: string; task_id: string; changes?: UpdateWorkspaceTask },
) {
  return {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'workspace_task', id },
    meta: { workspace: workspace.id, task, changes },
  }
}

const RELATION = '/data/relationships/task/data/id'

/** `stages` wins over the older `stage`, which clients may send along with it. */
function stagesOf(attributes: UpdateWorkspaceTask) {
  return attributes.stages ?? (attributes.stage && [attributes.stage])
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw notFound('workspace task')
  return row
}
