import type { UpdateProject } from '@groundstate/contract/projects'
import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { requireOrganizationPool } from '../organizations/pool-access.ts'
import type { FoundProject } from './project.ts'

type Defaults = { mode: FoundProject['default_execution_mode']; pool: string | null }

/** The execution defaults of a project after `input`; null follows the organization's. */
export async function readDefaults(ctx: Ctx, organizationId: string, current: Defaults, input: UpdateProject) {
  const { attributes, relationships } = input
  const overwrites = attributes['setting-overwrites']
  const asked = attributes['default-execution-mode']
  const mode = overwrites?.['default-execution-mode'] === false ? null : asked === undefined ? current.mode : asked
  const named = attributes['default-agent-pool-id'] ?? relationships['default-agent-pool']?.data?.id
  if (named && mode !== 'agent') {
    throw invalid(
      "default-agent-pool-id must not be specified unless using 'agent' execution mode",
      '/data/attributes/default-agent-pool-id',
    )
  }
  const pool = mode === 'agent' ? (named ?? current.pool) : null
  if (mode === 'agent' && !pool) {
    throw invalid(
      "default-agent-pool-id must be specified when using 'agent' execution mode",
      '/data/attributes/default-agent-pool-id',
    )
  }
  if (pool && pool !== current.pool) {
    await requireOrganizationPool(ctx, organizationId, pool, '/data/attributes/default-agent-pool-id')
  }
  return { default_execution_mode: mode, default_agent_pool_id: pool }
}
