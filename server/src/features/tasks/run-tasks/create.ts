import type { CreateTask } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { Organization } from '../../organizations/organizations/organization.ts'
import { requireOrganizationPool } from '../../organizations/organizations/pool-access.ts'
import { requireTask } from './access.ts'
import { taskAudit } from './audit.ts'
import { checkGlobalQuota, checkTaskQuota } from './check-quota.ts'
import { globalColumns } from './global-configuration.ts'
import { AGENT_POOL, IS_GLOBAL } from './pointers.ts'
import { sealKey } from './receiver.ts'
import * as store from './store.ts'
import { refuseTakenTaskName, requireFreeTaskName } from './task-name.ts'
import { checkReceiver } from './verify.ts'

/**
 * Creates a task after its receiver has answered the verification request with 200; throws `invalid` with the response
 * otherwise. No transaction is open during that request.
 */
export async function createTask(ctx: Ctx, organizationName: string, { attributes, relationships }: CreateTask) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:manage')
  const poolId = relationships['agent-pool']?.data?.id
  const pool =
    poolId === undefined ? undefined : await requireOrganizationPool(ctx, organization.id, poolId, AGENT_POOL)
  const hmacKey = attributes['hmac-key'] || undefined
  const ca = attributes['ca-certificate'] || undefined
  await transact(ctx, async (ctx) => checkTaskQuota(ctx, organization))
  await requireFreeTaskName(ctx, organization.id, { name: attributes.name })
  await checkReceiver(ctx, { organizationName: organization.name }, { url: attributes.url, hmacKey, ca, pool })

  const id = await transact(ctx, async (ctx) => insertTask(ctx, organization, { attributes, poolId }))
  return requireTask(ctx, id, 'run-tasks:read')
}

/** Creates a task for a caller that has been authorised, without asking its receiver. Returns its id. */
export async function insertTask(
  ctx: TransactionCtx,
  organization: Organization,
  { attributes, poolId }: { attributes: CreateTask['attributes']; poolId?: string | undefined },
) {
  const id = ctx.newId('task')
  const now = ctx.now()
  await checkTaskQuota(ctx, organization)
  if (attributes['global-configuration']?.enabled && attributes.enabled !== false)
    await checkGlobalQuota(ctx, organization, IS_GLOBAL)
  const row = {
    id,
    organization_id: organization.id,
    name: attributes.name,
    url: attributes.url,
    description: attributes.description ?? null,
    hmac_key: sealKey(ctx, id, attributes['hmac-key'] || undefined),
    ca_certificates: attributes['ca-certificate'] || null,
    enabled: attributes.enabled ?? true,
    agent_pool_id: poolId ?? null,
    ...globalColumns(attributes['global-configuration']),
    created_at: now,
    updated_at: now,
  }
  await refuseTakenTaskName(attributes.name, () => store.insertTask(ctx.db, row))
  await recordAudit(ctx, taskAudit(row, 'create'))
  return id
}
