import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireWorkspaceTask, type WorkspaceTaskKey } from './access.ts'
import { workspaceTaskAudit } from './audit.ts'
import * as store from './store.ts'

/** Detaches a task. Runs that have not reached its stages go on without it. */
export async function deleteWorkspaceTask(ctx: Ctx, key: WorkspaceTaskKey) {
  const { workspace, ...row } = await requireWorkspaceTask(ctx, key, 'run-tasks:manage')
  const event = workspaceTaskAudit(workspace, 'destroy', row)
  await audited(ctx, event, (ctx) => store.deleteWorkspaceTask(ctx.db, row.id))
}
