import type { UpdateProject } from '@groundstate/contract/projects'
import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { namedPool } from '../organizations/named-pool.ts'
import { requireOrganizationPool } from '../organizations/pool-access.ts'
import { checkOverwrites } from '../organizations/setting-overwrites.ts'
import type { FoundProject } from './project.ts'

type Defaults = { mode: FoundProject['default_execution_mode']; pool: string | null }

/** The execution defaults of a project after `input`; null follows the organization's. */
export async function readDefaults(ctx: Ctx, organizationId: string, current: Defaults, input: UpdateProject) {
  const { attributes } = input
  const overwrites = attributes['setting-overwrites']
  checkOverwrites(overwrites?.['default-agent-pool'], overwrites?.['default-execution-mode'])
  const asked = attributes['default-execution-mode']
  const mode = overwrites?.['default-execution-mode'] === false ? null : asked === undefined ? current.mode : asked
  const { poolId: named, pointer } = namedPool(input, 'default-agent-pool')
  if (named && mode !== 'agent') {
    throw invalid("Agent pool must not be specified unless using 'agent' execution mode", pointer)
  }
  const pool = mode !== 'agent' ? null : named === undefined ? current.pool : named
  if (mode === 'agent' && !pool) {
    throw invalid("Default agent pool must be specified when using 'agent' execution mode", pointer)
  }
  if (pool && pool !== current.pool) {
    await requireOrganizationPool(ctx, organizationId, pool, pointer)
  }
  return { default_execution_mode: mode, default_agent_pool_id: pool }
}
