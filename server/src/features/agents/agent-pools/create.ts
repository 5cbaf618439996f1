import type { CreateAgentPool } from '@groundstate/contract/agent-pools'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { type AgentPool, requireAgentPool } from './access.ts'
import { agentPoolAudit } from './audit.ts'
import { withUniqueName } from './name.ts'
import { replacePoolScope } from './replace-scope.ts'
import * as store from './store.ts'

export async function createAgentPool(
  ctx: Ctx,
  organization: { id: string },
  { attributes, relationships }: CreateAgentPool,
): Promise<AgentPool> {
  const { name, 'organization-scoped': scoped, 'max-concurrent-jobs': limit } = attributes
  const pool = { id: ctx.newId('apool'), organizationId: organization.id }
  return withUniqueName(name, () =>
    transact(ctx, async (ctx) => {
      await store.insertAgentPool(ctx.db, {
        id: pool.id,
        organization_id: pool.organizationId,
        name,
        organization_scoped: scoped ?? true,
        max_concurrent_jobs: limit ?? null,
        created_at: ctx.now(),
      })
      await replacePoolScope(ctx, pool, relationships)
      await recordAudit(ctx, agentPoolAudit(pool, 'create', { name, changes: { ...attributes, ...relationships } }))
      return requireAgentPool(ctx, pool.id, 'agent-pools:read')
    }),
  )
}
