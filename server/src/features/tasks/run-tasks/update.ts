import type { UpdateTask } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { requireOrganizationPool } from '../../organizations/organizations/pool-access.ts'
import { requireTask, type Task } from './access.ts'
import { taskAudit } from './audit.ts'
import { checkGlobalQuota } from './check-quota.ts'
import { globalColumns } from './global-configuration.ts'
import { AGENT_POOL, IS_ENABLED, IS_GLOBAL } from './pointers.ts'
import { type Receiver, sealKey, taskReceiver } from './receiver.ts'
import * as store from './store.ts'
import { refuseTakenTaskName, requireFreeTaskName } from './task-name.ts'
import { checkReceiver, type Suspect } from './verify.ts'

/** Changes a task. A new URL, key, authority or agent pool is verified first, as on creation. */
export async function updateTask(ctx: Ctx, id: string, { attributes, relationships }: UpdateTask) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const relation = relationships['agent-pool']
  const before = taskReceiver(ctx, task)
  const pool = relation ? await findPool(ctx, task, relation.data?.id) : before.pool
  const receiver = { ...changedReceiver(before, attributes), pool }
  const suspect = suspectOf(receiver, before)
  const { name } = attributes
  if (suspect && name !== undefined) await requireFreeTaskName(ctx, task.organization_id, { name, id })
  if (suspect) await checkReceiver(ctx, { organizationName: task.organization_name, suspect }, receiver)

  const changes: store.TaskChanges = {
    name: attributes.name,
    url: attributes.url,
    description: attributes.description,
    enabled: attributes.enabled,
    ...(receiver.hmacKey !== before.hmacKey && { hmac_key: sealKey(ctx, id, receiver.hmacKey) }),
    ca_certificates: receiver.ca ?? null,
    ...(relation && { agent_pool_id: pool?.id ?? null }),
    ...globalColumns(attributes['global-configuration'], task.global_stages),
    updated_at: ctx.now(),
  }
  await refuseTakenTaskName(attributes.name ?? task.name, () =>
    transact(ctx, async (ctx) => {
      const changed = await store.updateTask(ctx.db, id, changes)
      if (changed?.enabled && changed.global_enabled) await checkSwitchedOn(ctx, task, attributes)
      await recordAudit(ctx, taskAudit(task, 'update', Object.keys({ ...attributes, ...relationships })))
    }),
  )
  return requireTask(ctx, id, 'run-tasks:read')
}

/**
 * A task counts in every workspace once it is both enabled and global. Whether it is, only the changed row says:
 * another request may have switched the other of the two on.
 */
async function checkSwitchedOn(ctx: TransactionCtx, task: Task, attributes: UpdateTask['attributes']) {
  const becomesGlobal = attributes['global-configuration']?.enabled === true && !task.global_enabled
  const becomesEnabled = attributes.enabled === true && !task.enabled
  if (!becomesGlobal && !becomesEnabled) return
  const organization = { id: task.organization_id, plan: task.organization_plan }
  await checkGlobalQuota(ctx, organization, becomesGlobal ? IS_GLOBAL : IS_ENABLED)
}

async function findPool(ctx: Ctx, task: Task, id: string | undefined): Promise<Receiver['pool']> {
  return id === undefined ? undefined : requireOrganizationPool(ctx, task.organization_id, id, AGENT_POOL)
}

/** An absent attribute stays as it is; null and the empty string take the key or the authority away. */
function changedReceiver(before: Receiver, attributes: UpdateTask['attributes']): Omit<Receiver, 'pool'> {
  return {
    url: attributes.url ?? before.url,
    hmacKey: attributes['hmac-key'] === undefined ? before.hmacKey : attributes['hmac-key'] || undefined,
    ca: attributes['ca-certificate'] === undefined ? before.ca : attributes['ca-certificate'] || undefined,
  }
}

/** What a refusal of the changed receiver is blamed on; undefined when nothing has changed. */
function suspectOf(receiver: Receiver, before: Receiver): Suspect | undefined {
  if (receiver.url !== before.url) return 'url'
  if (receiver.hmacKey !== before.hmacKey) return 'hmac-key'
  if (receiver.ca !== before.ca) return 'ca-certificate'
  return receiver.pool?.id === before.pool?.id ? undefined : 'agent-pool'
}
