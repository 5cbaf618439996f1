import { type CreateTask, STAGES, type UpdateTask } from '@groundstate/contract/run-tasks'
import type { InferResult } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { type Page, isForeignKeyViolation, rejectTakenName, transact } from '../../../db/db.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { conflict, invalid } from '../../../errors.ts'
import {
  type Organization,
  requireOrganization,
  requireOrganizationPool,
} from '../../organizations/organizations/access.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { mayBeGlobal, requireTask } from './access.ts'
import { checkGlobalQuota, checkTaskQuota } from './quotas.ts'
import { type Receiver, sealKey, taskReceiver } from './receiver.ts'
import * as store from './store.ts'
import { AGENT_POOL, type Suspect, checkReceiver } from './verify.ts'

/** Creates a task, or throws `invalid` unless its receiver responds to the verification request with 200. No transaction is open during the request. */
export async function createTask(ctx: Ctx, organizationName: string, { attributes, relationships }: CreateTask) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:manage')
  const poolId = relationships['agent-pool']?.data?.id
  const pool = await findPool(ctx, organization.id, poolId)
  const hmacKey = attributes['hmac-key'] || undefined
  const ca = attributes['ca-certificate'] || undefined
  await transact(ctx, async (ctx) => checkTaskQuota(ctx, organization))
  await requireFreeTaskName(ctx, organization.id, { name: attributes.name })
  await checkReceiver(ctx, { organizationName: organization.name }, { url: attributes.url, hmacKey, ca, pool })

  const id = await transact(ctx, async (ctx) => insertTask(ctx, organization, { attributes, poolId }))
  return requireTask(ctx, id, 'run-tasks:read')
}

/** Creates a task for an authorised caller without verifying its receiver. Returns its id. */
export async function insertTask(
  ctx: TransactionCtx,
  organization: Organization,
  { attributes, poolId }: { attributes: CreateTask['attributes']; poolId?: string | undefined },
) {
  const id = ctx.newId('task')
  const now = ctx.now()
  await checkTaskQuota(ctx, organization)
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
    ...(PLAN_LIMITS[organization.plan].globalRunTasks && globalColumns(attributes['global-configuration'])),
    created_at: now,
    updated_at: now,
  }
  await rejectTakenTaskName(attributes.name, () => store.insertTask(ctx.db, row))
  await recordAudit(ctx, taskAudit(row, 'create'))
  return id
}

export async function listTasks(ctx: Ctx, organizationName: string, list: { page: Page; q: string | undefined }) {
  const organization = await requireOrganization(ctx, organizationName, 'run-tasks:read')
  const { rows, total } = await store.listTasks(ctx.db, organization.id, list)
  return { rows: await withAttachments(ctx, rows), total }
}

/** The attachments of tasks, by task id. Workspaces that the actor may not see are omitted. */
export async function listAttachments(ctx: Ctx, taskIds: readonly string[]) {
  const rows = taskIds.length === 0 ? [] : await store.listAttachments(ctx.db, ctx.actor, taskIds)
  return Map.groupBy(rows, (row) => row.task_id)
}

export async function withAttachments<T extends { id: string }>(ctx: Ctx, tasks: readonly T[]) {
  const ids = tasks.map(({ id }) => id)
  const attachments = await listAttachments(ctx, ids)
  return tasks.map((task) => ({ ...task, attachments: attachments.get(task.id) ?? [] }))
}

type InOrganization = { id: string; organization_id: string }

/** The enabled tasks of a run in the workspace, which the caller has authorised. */
export async function listEffectiveTasks({ db }: Pick<Ctx, 'db'>, workspace: InOrganization) {
  return (await store.selectEffectiveTasks(db, workspace).execute()).map(effectiveTask)
}

/** As `listEffectiveTasks`, pipelined with the transaction's next statement. Call the returned function after that statement. */
export async function readEffectiveTasks({ db }: Pick<Ctx, 'db'>, workspace: InOrganization) {
  const read = await readWithNext(db, [store.selectEffectiveTasks(db, workspace)])
  return async () => (await read())[0].map(effectiveTask)
}

export type EffectiveTask = ReturnType<typeof effectiveTask>

/** A task as it applies to a new run: its stages, each with the most restrictive enforcement level. */
function effectiveTask(row: InferResult<ReturnType<typeof store.selectEffectiveTasks>>[number]) {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    agentPoolId: row.agent_pool_id,
    workspaceTaskId: row.workspace_task_id,
    stages: STAGES.flatMap((stage) => {
      const attached = row.stages?.includes(stage) ? row.enforcement_level : undefined
      const global = row.global_enabled && row.global_stages.includes(stage) ? row.global_enforcement_level : undefined
      const enforcementLevel = attached === 'mandatory' ? attached : (global ?? attached)
      return enforcementLevel ? [{ stage, enforcementLevel }] : []
    }),
  }
}

/** Changes a task. A new URL, key, authority or agent pool is verified first, as on creation. */
export async function updateTask(ctx: Ctx, id: string, { attributes, relationships }: UpdateTask) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  const relation = relationships['agent-pool']
  const before = taskReceiver(ctx, task)
  const pool = relation ? await findPool(ctx, task.organization_id, relation.data?.id) : before.pool
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
    ...(mayBeGlobal(task) && globalColumns(attributes['global-configuration'], task.global_stages)),
    updated_at: ctx.now(),
  }
  await rejectTakenTaskName(attributes.name ?? task.name, () =>
    transact(ctx, async (ctx) => {
      const changed = await store.updateTask(ctx.db, id, changes)
      if (changed?.enabled && changed.global_enabled && !task.enabled)
        await checkGlobalQuota(ctx, { id: task.organization_id, plan: task.organization_plan })
      const event = taskAudit(task, 'update', Object.keys({ ...attributes, ...relationships }))
      await recordAudit(ctx, { ...event, settings: { before: task, columns: changes } })
    }),
  )
  return requireTask(ctx, id, 'run-tasks:read')
}

async function findPool(ctx: Ctx, organizationId: string, id: string | undefined): Promise<Receiver['pool']> {
  return id === undefined ? undefined : requireOrganizationPool(ctx, organizationId, id, AGENT_POOL)
}

/** An absent attribute is unchanged; null or an empty string removes the key or the authority. */
function changedReceiver(before: Receiver, attributes: UpdateTask['attributes']): Omit<Receiver, 'pool'> {
  return {
    url: attributes.url ?? before.url,
    hmacKey: attributes['hmac-key'] === undefined ? before.hmacKey : attributes['hmac-key'] || undefined,
    ca: attributes['ca-certificate'] === undefined ? before.ca : attributes['ca-certificate'] || undefined,
  }
}

/** The attribute that a rejected receiver is attributed to; undefined if nothing changed. */
function suspectOf(receiver: Receiver, before: Receiver): Suspect | undefined {
  if (receiver.url !== before.url) return 'url'
  if (receiver.hmacKey !== before.hmacKey) return 'hmac-key'
  if (receiver.ca !== before.ca) return 'ca-certificate'
  return receiver.pool?.id === before.pool?.id ? undefined : 'agent-pool'
}

/** Deletes a task. Runs that wait for its result still accept it. Throws `conflict` while it is attached to a workspace. */
export async function deleteTask(ctx: Ctx, id: string) {
  const task = await requireTask(ctx, id, 'run-tasks:manage')
  try {
    await audited(ctx, taskAudit(task, 'destroy'), (ctx) => store.deleteTask(ctx.db, id))
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict(`the task ${task.name} is attached to workspaces: detach it there first`)
  }
}

/** Absent attributes are unchanged. A task that becomes global runs at post_plan by default. */
function globalColumns(input: CreateTask['attributes']['global-configuration'], before: readonly string[] = []) {
  if (input === undefined) return {}
  if (input === null) return { global_enabled: false }
  return {
    global_enabled: input.enabled,
    global_stages: input.stages ?? (input.enabled && before.length === 0 ? ['post_plan'] : undefined),
    global_enforcement_level: input['enforcement-level'],
  }
}

const detailOf = (name: string) => `Name ${name} has already been taken`

/** Runs `work` and throws `invalid` if another task of the organization has the name that it stores. */
async function rejectTakenTaskName<T>(name: string, work: () => Promise<T>) {
  return rejectTakenName({ constraint: 'tasks_name_key', detail: detailOf(name) }, work)
}

/** As `rejectTakenTaskName`, checked before the receiver is contacted. `id` is that of an existing task. */
async function requireFreeTaskName(ctx: Ctx, organizationId: string, task: { name: string; id?: string }) {
  if (await store.isNameTaken(ctx.db, organizationId, task)) throw invalid(detailOf(task.name), '/data/attributes/name')
}

/** `changes` are attribute names only: a URL may hold a secret, as the key does. */
function taskAudit(
  task: Pick<store.TaskRow, 'id' | 'name' | 'organization_id'>,
  action: 'create' | 'update' | 'destroy',
  changes?: readonly string[],
): AuditEvent {
  return {
    organizationId: task.organization_id,
    action,
    resource: { type: 'task', id: task.id },
    meta: { name: task.name, changes },
    notices: [{ type: 'tasks', id: task.id }],
  }
}
