import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import { HEALTH_DELIVERIES, type TaskCallback, type TaskOutcome } from '@groundstate/contract/run-tasks'
import type { DeliveryStatus } from '@groundstate/contract/task-results'
import type { App, Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, recordAudit } from '../../../audit/record.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { type Page, transact } from '../../../db/db.ts'
import { isWithheld } from '../../../deliveries/attempts.ts'
import { conflict, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireTask } from '../run-tasks/access.ts'
import type { EffectiveTask } from '../run-tasks/service.ts'
import { requireOutcome, requireReceiver, requireTaskResult } from './access.ts'
import { maxResultMs } from './deadlines.ts'
import { tokenContext } from './deliver.ts'
import * as deliveriesStore from './deliveries-store.ts'
import { TOPIC, announceResults, resultNotice, resultsEnded } from './events.ts'
import * as outcomesStore from './outcomes-store.ts'
import * as store from './store.ts'

type NewRun = { tasks: readonly EffectiveTask[]; stages: ReadonlyMap<string, { id: string }> }

/** Creates the pending results of a new run; `stages` are its task stages by name. */
export async function createResults(ctx: TransactionCtx, runId: string, { tasks, stages }: NewRun) {
  const rows = tasks.flatMap((task) =>
    task.stages.flatMap(({ stage, enforcementLevel }) => {
      const taskStage = stages.get(stage)
      const row = {
        id: ctx.newId('taskrs'),
        stage,
        task_id: task.id,
        task_name: task.name,
        task_url: task.url,
        workspace_task_id: task.workspaceTaskId,
        agent_pool_id: task.agentPoolId,
        enforcement_level: enforcementLevel,
      }
      return taskStage ? [{ ...row, task_stage_id: taskStage.id }] : []
    }),
  )
  await store.insertResults(ctx.db, runId, { rows, now: ctx.now() })
}

/** Queues the requests of a stage, skipping tasks disabled, detached or deleted since the run was created. Returns false if no task is left. */
export async function startResults(ctx: TransactionCtx, stageId: string) {
  const now = ctx.now()
  const starts: store.Start[] = []
  const skips: { id: string; message: string }[] = []
  for (const row of await store.listResultsToStart(ctx.db, stageId)) {
    const change = changeSince(row)
    if (change !== undefined) {
      skips.push({ id: row.id, message: `skipped: the task ${row.task_name} ${change} after the run was created` })
      continue
    }
    const text = newTokenText()
    const sealed = ctx.secrets.seal(text, tokenContext(row.id))
    starts.push({ id: row.id, tokenId: ctx.newId('at'), hash: tokenHash(text), sealed })
  }
  if (skips.length > 0) await store.skipResults(ctx.db, skips, now)
  await announceResults(ctx, { ids: [...starts, ...skips].map(({ id }) => id) })
  if (starts.length === 0) return false
  const deadline = new Date(now.getTime() + ctx.config.runTaskTimeout)
  await store.startResults(ctx.db, starts, { now, deadline })
  ctx.signals.publish(ctx.db, TOPIC)
  return true
}

function changeSince(row: Awaited<ReturnType<typeof store.listResultsToStart>>[number]) {
  if (row.task_id === null) return 'was deleted'
  if (!row.enabled) return 'was disabled'
  const atStage = row.stages?.includes(row.stage) || (row.global_enabled && row.global_stages?.includes(row.stage))
  if (atStage) return undefined
  return row.workspace_task_id === null ? 'was detached from the workspace' : 'was removed from this stage'
}

/** The deliveries of a result, latest first; `isHidden` if the actor may not read the responses. */
export async function listDeliveries(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const { rows, total } = await deliveriesStore.listDeliveries(ctx.db, result.id, page)
  return { rows: rows.map((row) => shownDelivery(ctx, row)), total }
}

type TaskDeliveries = { status: DeliveryStatus | undefined; page: Page }

/** The deliveries of a task over all runs, latest first. `can` are the actor's permissions on the run's workspace; undefined if the run is unreadable. */
export async function listTaskDeliveries(ctx: Ctx, taskId: string, list: TaskDeliveries) {
  const task = await requireTask(ctx, taskId, 'run-tasks:read')
  const rows = await deliveriesStore.listTaskDeliveries(ctx.db, ctx.actor, { taskId: task.id, ...list })
  const deliveries = rows.slice(0, list.page.size).map(({ access, ...row }) => {
    const side = readAccess(ctx.actor, { ...row, access })
    return { ...shownDelivery(ctx, row), can: canReadRuns(side) ? side.can : undefined }
  })
  return { rows: deliveries, isLast: rows.length <= list.page.size }
}

/** The health of tasks for which the caller is authorised, by task id. */
export async function listTaskHealth(ctx: Ctx, taskIds: readonly string[]) {
  return deliveriesStore.listTaskHealth(ctx.db, taskIds, HEALTH_DELIVERIES)
}

function shownDelivery<Row extends { is_private: boolean }>(ctx: Ctx, row: Row) {
  return { ...row, isHidden: isWithheld(ctx, { isPrivate: row.is_private }) }
}

/** Maximum number of included resources per result; lists return all. */
const MAX_INCLUDED = { outcomes: 100, deliveries: 10 } as const

/** The latest deliveries of results that the actor may read, latest first. */
export async function listDeliveriesOf(ctx: Ctx, resultIds: readonly string[]) {
  const rows = await deliveriesStore.listDeliveriesOf(ctx.db, resultIds, MAX_INCLUDED.deliveries)
  return rows.map((row) => shownDelivery(ctx, row))
}

export async function listOutcomesOf(ctx: Ctx, resultIds: readonly string[]) {
  return outcomesStore.listOutcomesOf(ctx.db, resultIds, MAX_INCLUDED.outcomes)
}

export async function listOutcomes(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  return { rows: await outcomesStore.listOutcomes(ctx.db, result.id, page), total: result.outcomes_count }
}

/** The Markdown body of an outcome. Throws `not-found` if there is none. */
export async function readOutcomeBody(ctx: Ctx, id: string) {
  const outcome = await requireOutcome(ctx, id)
  const body = await outcomesStore.findBody(ctx.db, outcome.id)
  if (body === undefined) throw notFound('body of the task result outcome')
  return body
}

/** The bodies of all outcomes of a result as one Markdown text. Throws `not-found` if there is none. */
export async function readResultBody(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const outcomes = await outcomesStore.listOutcomesWithBody(ctx.db, result.id)
  if (outcomes.length === 0) throw notFound('body of the task result')
  return (async function* () {
    for (const { id, description } of outcomes)
      yield `# ${description}\n\n${await outcomesStore.findBody(ctx.db, id)}\n\n`
  })()
}

/**
 * Records a receiver's callback. `running` keeps the result open; `passed` and `failed` end it and, for the last result of
 * its stage, advance the run in the same transaction. Throws `conflict` if the result has ended.
 */
export async function recordCallback(ctx: Ctx, id: string, { attributes, relationships }: TaskCallback) {
  const { runId } = requireReceiver(ctx, id)
  const { status, message, url } = attributes
  const data = [...(relationships.outcomes?.data ?? []), ...(relationships['task-result-outcomes']?.data ?? [])]
  const rows = newOutcomes(ctx, data)
  const report = { message: message || null, url: url || null, now: ctx.now() }
  const audit = callbackAudit(id, runId, status)

  await transact(ctx, async (ctx) => {
    await announceResults(ctx, { ids: [id] })
    if (status === 'running') {
      const limits = { timeoutMs: ctx.config.runTaskTimeout, maxMs: maxResultMs(ctx) }
      if (!(await store.recordProgress(ctx.db, id, { ...report, ...limits }))) throw await callbackConflict(ctx, id)
      if (rows.length > 0) await outcomesStore.mergeOutcomes(ctx.db, id, { rows, now: ctx.now() })
      await recordAudit(ctx, audit)
      return
    }
    // Written before the lock, which serialises the callbacks of a stage.
    await recordAudit(ctx, audit)
    await store.lockWorkspaceOfRun(ctx.db, runId)
    const ended = await store.endResult(ctx.db, id, { ...report, status })
    if (!ended) throw await callbackConflict(ctx, id)
    if (rows.length > 0) await outcomesStore.mergeOutcomes(ctx.db, id, { rows, now: ctx.now() })
    if (ended.open === 0) await raise(ctx, resultsEnded, { runId, stageIds: [ended.task_stage_id] })
  })
}

function callbackAudit(id: string, run: string, status: string): AuditEvent {
  return {
    organizationId: { run },
    action: 'callback',
    resource: { type: 'task_result', id },
    meta: { run, status },
    // The organization is unknown here; results are announced above.
    notices: [],
  }
}

async function callbackConflict(ctx: TransactionCtx, id: string) {
  const row = await store.findStatus(ctx.db, id)
  return conflict(`the task result is ${row?.status ?? 'deleted'}, it accepts no further callback`)
}

/** Rows for the outcomes of a callback. The last of several with the same id wins. */
function newOutcomes(
  { newId }: Pick<App, 'newId'>,
  data: readonly { attributes: TaskOutcome }[],
): outcomesStore.NewOutcome[] {
  const byId = new Map(data.map(({ attributes }) => [attributes['outcome-id'], attributes]))
  return [...byId.values()].map((outcome) => ({
    id: newId('taskrso'),
    outcome_id: outcome['outcome-id'],
    description: outcome.description,
    url: outcome.url || null,
    // Clients read tags as a list, with the receiver's names as labels.
    tags: outcome.tags
      ? JSON.stringify(Object.entries(outcome.tags).map(([label, value]) => ({ label, value })))
      : null,
    body: outcome.body ?? null,
  }))
}

/** Throws `conflict` if the result has ended, its request is being delivered, or its task, and with it the URL, was deleted. */
export async function redeliver(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:apply')
  await transact(ctx, async (ctx) => {
    if (!(await deliveriesStore.requeueDelivery(ctx.db, result.id, ctx.now())))
      throw conflict(await redeliveryConflict(ctx, result))
    ctx.signals.publish(ctx.db, TOPIC)
    await recordAudit(ctx, {
      organizationId: result.organization_id,
      action: 'redeliver',
      resource: { type: 'task_result', id: result.id },
      meta: { run: result.run_id },
      notices: [resultNotice(result)],
    })
  })
  return requireTaskResult(ctx, resultId, 'runs:read')
}

async function redeliveryConflict({ db }: Ctx, { id, task_name }: { id: string; task_name: string }) {
  const row = await store.findStatus(db, id)
  if (row?.status !== 'running')
    return `the task result is ${row?.status ?? 'deleted'}: only the request of a running result can be redelivered`
  if (!row.has_task)
    return `the task ${task_name} was deleted: its request cannot be redelivered, but its callback is still accepted`
  return 'the request is being delivered: wait for its response'
}

/** Ends the results of an ended run and deletes their tokens: running ones are canceled, pending ones become unreachable. */
export async function cancelResults(ctx: TransactionCtx, run: EndedRun) {
  const { stopped } = RUN_STATUS_TABLE[run.status]
  const message = stopped === undefined ? `the run ended as ${run.status}` : `the run was ${stopped}`
  await store.cancelResults(ctx.db, run.id, { message, now: ctx.now() })
  await announceResults(ctx, { runId: run.id })
}

export type EndedRun = { id: string; status: RunStatus }
