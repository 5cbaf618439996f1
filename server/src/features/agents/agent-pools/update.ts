import type { UpdateAgentPool } from '@groundstate/contract/agent-pools'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events/reaction.ts'
import { type AgentPool, requireAgentPool } from './access.ts'
import { agentPoolAudit } from './audit.ts'
import { poolLimitChanged } from './events.ts'
import { withUniqueName } from './name.ts'
import { replacePoolScope } from './replace-scope.ts'
import * as store from './store.ts'

export async function updateAgentPool(
  ctx: Ctx,
  pool: AgentPool,
  { attributes, relationships }: UpdateAgentPool,
): Promise<AgentPool> {
  const { name, 'organization-scoped': scoped, 'max-concurrent-jobs': limit } = attributes
  const changes = {
    ...(name !== undefined && { name }),
    ...(typeof scoped === 'boolean' && { organization_scoped: scoped }),
    ...(limit !== undefined && { max_concurrent_jobs: limit }),
  }
  const key = { id: pool.id, organizationId: pool.organization_key }
  return withUniqueName(name ?? pool.name, () =>
    transact(ctx, async (ctx) => {
      if (Object.keys(changes).length > 0) await store.updateAgentPool(ctx.db, pool.id, changes)
      if (limit !== undefined) await raise(ctx, poolLimitChanged, { poolId: pool.id })
      await replacePoolScope(ctx, key, relationships)
      const meta = { name: pool.name, changes: { ...attributes, ...relationships } }
      await recordAudit(ctx, agentPoolAudit(key, 'update', meta))
      return requireAgentPool(ctx, pool.id, 'agent-pools:read')
    }),
  )
}
