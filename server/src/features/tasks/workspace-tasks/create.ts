import type { CreateWorkspaceTask } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { checkWorkspaceQuota } from '../run-tasks/check-quota.ts'
import { workspaceTaskAudit } from './audit.ts'
import { givenStages } from './stages.ts'
import * as store from './store.ts'

const RELATION = '/data/relationships/task/data/id'

/** Attaches a task of the organization to a workspace. Runs that are created from now on ask it. */
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
        stages: givenStages(input.attributes) ?? ['post_plan'],
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
