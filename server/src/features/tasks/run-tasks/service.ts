import type { CreateTask, Stage, UpdateTask } from '@groundstate/contract/run-tasks'
import { STAGES } from '@groundstate/contract/run-tasks'
import type { Updateable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkDemands, type OrganizationPermission, organizationPermissions } from '../../../auth/permissions.ts'
import { isForeignKeyViolation, isUniqueViolation, transact } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { requireOrganization, requireOrganizationPool } from '../../organizations/organizations/service.ts'
import { checkGlobalQuota, checkTaskQuota } from './quota.ts'
import * as store from './store.ts'
import { checkReceiver, type Receiver, type Suspect, type Verification, verifyReceiver } from './verification.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

export type Task = NonNullable<Awaited<ReturnType<typeof store.findTask>>>

/** Throws `not-found` for a task that the actor may not see, `forbidden` when it lacks the permission. */
export async function requireTask(ctx: Ctx, id: string, permission: OrganizationPermission): Promise<Task> {
  const task = await store.findTask(ctx.db, ctx.actor, id)
  if (!task) throw notFound('task')
  const facts = readFacts(ctx.actor, { organizationId: task.organization_id, facts: task.facts })
  const can = organizationPermissions(facts)
  checkDemands(facts)
  if (!can.has('run-tasks:read')) throw notFound('task')
  if (!can.has(permission)) {
    throw forbidden(`this needs the permission ${permission} in the organization ${task.organization_name}`)
  }
  return task
}

export async function listTasks(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:read')
  return store.listTasks(ctx.db, organization.id, { limit: page.size, offset: pageOffset(page) })
}

/** Where tasks are attached, by task id, as far as the actor may see the workspaces. */
export async function listAttachments(ctx: Ctx, taskIds: readonly string[]) {
  const rows = taskIds.length === 0 ? [] : await store.listAttachments(ctx.db, ctx.actor, taskIds)
  return Map.groupBy(rows, (row) => row.task_id)
}

/**
 * Makes a task, once its receiver has answered the verification request with 200: no transaction is open while it is
 * asked. Throws `invalid` with what came back otherwise.
 */
export async function createTask(ctx: Ctx, organizationName: string, { attributes, relationships }: CreateTask) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:manage')
  const poolId = relationships['agent-pool']?.data?.id ?? null
  if (poolId !== null) await requireOrganizationPool(ctx, organization.id, poolId, POOL)
  const hmacKey = attributes['hmac-key'] || undefined
  const ca = attributes['ca-certificate'] || undefined
  await transact(ctx, async (ctx) => checkTaskQuota(ctx, organization))
  await checkReceiver(ctx, { organizationName: organization.name }, { url: attributes.url, hmacKey, ca })

  const id = ctx.newId('task')
  const now = ctx.now()
  await named(attributes.name, () =>
    transact(ctx, async (ctx) => {
      await checkTaskQuota(ctx, organization)
      if (attributes['global-configuration']?.enabled && attributes.enabled !== false)
        await checkGlobalQuota(ctx, organization, IS_GLOBAL)
      await store.insertTask(ctx.db, {
        id,
        organization_id: organization.id,
        name: attributes.name,
        url: attributes.url,
        description: attributes.description ?? null,
        hmac_key: hmacKey === undefined ? null : ctx.secrets.seal(hmacKey, keyContext(id)),
        ca_certificates: ca ?? null,
        enabled: attributes.enabled ?? true,
        agent_pool_id: poolId,
        ...globalColumns(attributes['global-configuration']),
        created_at: now,
        updated_at: now,
      })
      await recordAudit(ctx, {
        organizationId: organization.id,
        action: 'create',
        resource: { type: 'task', id },
        meta: { name: attributes.name },
      })
    }),
  )
  return requireTask(ctx, id, 'run-tasks:read')
}

/** Changes a task. A new URL, key or authority is verified first, as on creation. */
export async function updateTask(ctx: Ctx, id: string, { attributes, relationships }: UpdateTask) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const pool = relationships['agent-pool']
  if (pool?.data) await requireOrganizationPool(ctx, task.organization_id, pool.data.id, POOL)

  const before = taskReceiver(ctx, task)
  const receiver = {
    url: attributes.url ?? before.url,
    hmacKey: attributes['hmac-key'] === undefined ? before.hmacKey : attributes['hmac-key'] || undefined,
    ca: attributes['ca-certificate'] === undefined ? before.ca : attributes['ca-certificate'] || undefined,
  }
  const suspect = suspectOf(receiver, before)
  if (suspect) await checkReceiver(ctx, { organizationName: task.organization_name, suspect }, receiver)

  const changes: Updateable<Schema['tasks']> = {
    name: attributes.name,
    url: attributes.url,
    description: attributes.description,
    enabled: attributes.enabled,
    ...(receiver.hmacKey !== before.hmacKey && {
      hmac_key: receiver.hmacKey === undefined ? null : ctx.secrets.seal(receiver.hmacKey, keyContext(id)),
    }),
    ca_certificates: receiver.ca ?? null,
    ...(pool && { agent_pool_id: pool.data?.id ?? null }),
    ...globalColumns(attributes['global-configuration'], task.global_stages),
    updated_at: ctx.now(),
  }
  const becomesGlobal = attributes['global-configuration']?.enabled === true && !task.global_enabled
  const becomesEnabled = attributes.enabled === true && !task.enabled
  await named(attributes.name ?? task.name, () =>
    transact(ctx, async (ctx) => {
      const changed = await store.updateTask(ctx.db, id, changes)
      // Only the changed row tells: another request may be switching the other of the two on.
      if ((becomesGlobal || becomesEnabled) && changed?.enabled && changed.global_enabled) {
        const organization = { id: task.organization_id, plan: task.organization_plan }
        await checkGlobalQuota(ctx, organization, becomesGlobal ? IS_GLOBAL : IS_ENABLED)
      }
      // A URL may hold a secret, as the key does.
      await recordAudit(ctx, {
        organizationId: task.organization_id,
        action: 'update',
        resource: { type: 'task', id },
        meta: { name: task.name, changes: Object.keys({ ...attributes, ...relationships }) },
      })
    }),
  )
  return requireTask(ctx, id, 'run-tasks:read')
}

/** The attribute that a refusal of the changed receiver is pinned on; undefined when nothing has changed. */
function suspectOf(receiver: Receiver, before: Receiver): Suspect | undefined {
  if (receiver.url !== before.url) return 'url'
  if (receiver.hmacKey !== before.hmacKey) return 'hmac-key'
  return receiver.ca === before.ca ? undefined : 'ca-certificate'
}

/** Throws `conflict` while the task is attached to a workspace. Runs that wait for its verdict still take it. */
export async function deleteTask(ctx: Ctx, id: string) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const event = {
    organizationId: task.organization_id,
    action: 'destroy',
    resource: { type: 'task', id },
    meta: { name: task.name },
  }
  try {
    await audited(ctx, event, (ctx) => store.deleteTask(ctx.db, id))
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict(`the task ${task.name} is attached to workspaces: detach it there first`)
  }
}

/** Sends a verification request, whether or not it is answered as it should be, and tells the whole exchange. */
export async function testTask(ctx: Ctx, id: string): Promise<{ task: Task; verification: Verification }> {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  return { task, verification: await verifyReceiver(ctx, task.organization_name, taskReceiver(ctx, task)) }
}

const POOL = '/data/relationships/agent-pool/data/id'
const IS_GLOBAL = '/data/attributes/global-configuration/enabled'
const IS_ENABLED = '/data/attributes/enabled'

/** Where the requests of a task go, and its opened key. */
export function taskReceiver(
  ctx: Pick<Ctx, 'secrets'>,
  task: Pick<store.TaskRow, 'id' | 'url' | 'hmac_key' | 'ca_certificates'>,
): Receiver {
  return {
    url: task.url,
    hmacKey: task.hmac_key === null ? undefined : ctx.secrets.openText(task.hmac_key, keyContext(task.id)),
    ca: task.ca_certificates ?? undefined,
  }
}

function keyContext(id: string) {
  return `tasks/${id}/hmac-key`
}

/** What is not named stays as it is. A task that becomes global runs after the plan unless something else is said. */
function globalColumns(given: CreateTask['attributes']['global-configuration'], before: readonly string[] = []) {
  if (given === undefined) return {}
  if (given === null) return { global_enabled: false }
  return {
    global_enabled: given.enabled,
    global_stages: given.stages ?? (given.enabled && before.length === 0 ? ['post_plan'] : undefined),
    global_enforcement_level: given['enforcement-level'],
  }
}

async function named(name: string, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (isUniqueViolation(error, 'tasks_name_key')) {
      throw invalid(`Name ${name} has already been taken`, '/data/attributes/name')
    }
    throw error
  }
}

/** A task as a new run asks it: at these stages, with the most restrictive of the levels that apply. */
export type EffectiveTask = {
  id: string
  name: string
  url: string
  agentPoolId: string | null
  workspaceTaskId: string | null
  stages: { stage: Stage; enforcementLevel: 'advisory' | 'mandatory' }[]
}

/** The enabled tasks that a run of the workspace asks. Whoever calls this has authorised it. */
export async function listEffectiveTasks(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<EffectiveTask[]> {
  const rows = await store.listEffectiveTasks(ctx.db, workspace)
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    url: row.url,
    agentPoolId: row.agent_pool_id,
    workspaceTaskId: row.workspace_task_id,
    stages: STAGES.flatMap((stage) => {
      const levels = [
        ...(row.stages?.includes(stage) ? [row.enforcement_level] : []),
        ...(row.global_enabled && row.global_stages.includes(stage) ? [row.global_enforcement_level] : []),
      ]
      if (levels.length === 0) return []
      return [
        { stage, enforcementLevel: levels.includes('mandatory') ? ('mandatory' as const) : ('advisory' as const) },
      ]
    }),
  }))
}
