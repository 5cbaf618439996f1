import type { UpdateWorkspaceTask } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspaceTask, type WorkspaceTaskKey } from './access.ts'
import { workspaceTaskAudit } from './audit.ts'
import { givenStages } from './stages.ts'
import * as store from './store.ts'

export async function updateWorkspaceTask(ctx: Ctx, key: WorkspaceTaskKey, attributes: UpdateWorkspaceTask) {
  const { workspace, ...row } = await requireWorkspaceTask(ctx, key, 'run-tasks:manage')
  return audited(ctx, workspaceTaskAudit(workspace, 'update', { ...row, changes: attributes }), async (ctx) => {
    const changed = await store.updateWorkspaceTask(ctx.db, row.id, {
      enforcement_level: attributes['enforcement-level'],
      stages: givenStages(attributes),
      updated_at: ctx.now(),
    })
    if (!changed) throw notFound('workspace task')
    return changed
  })
}
