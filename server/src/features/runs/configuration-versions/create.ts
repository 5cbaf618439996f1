import type { CreateConfigurationVersion } from '@groundstate/contract/configuration-versions'
import type { Ctx } from '../../../app.ts'
import { auditedStatement } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { configurationVersionAudit } from './audit.ts'
import * as store from './store.ts'

export async function createConfigurationVersion(
  ctx: Ctx,
  workspaceId: string,
  { input, source }: { input: CreateConfigurationVersion; source: store.ConfigurationVersionRow['source'] },
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:plan')
  const now = ctx.now()
  const id = ctx.newId('cv')
  const values = {
    id,
    workspace_id: workspace.id,
    status: 'pending' as const,
    status_timestamps: JSON.stringify({ pending: now.toISOString() }),
    source,
    auto_queue_runs: input['auto-queue-runs'] ?? true,
    speculative: input.speculative ?? false,
    provisional: input.provisional ?? false,
    created_by_user_id: actorUserId(ctx.actor),
    created_at: now,
  }
  const event = configurationVersionAudit(workspace.organization_id, 'create', { id, workspace_id: workspace.id })
  const [row] = await auditedStatement(ctx, event, { change: store.insertConfigurationVersion, values })
  if (!row) throw new Error('an insert returned no row')
  return row
}
