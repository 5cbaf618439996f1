import type { TaskCallback, TaskOutcome } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type Tx, transact } from '../../../db/db.ts'
import { conflict, unauthorized } from '../../../errors.ts'
import { settleStage } from '../../runs/task-stages/service.ts'
import { longestWait } from './deadlines.ts'
import { mergeOutcomes, type NewOutcome } from './outcomes-store.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'

/** Throws `unauthorized` unless the caller holds the token of this very result, which dies with it. */
export function checkCallbackToken(ctx: Ctx, id: string) {
  if (ctx.actor.kind === 'task' && ctx.actor.taskResultId === id) return
  throw unauthorized('a callback needs the access_token of the request that it answers')
}

/**
 * Takes a receiver's word. `running` keeps the result open; `passed` and `failed` end it and, when it is the last of its
 * stage, move the run in the same transaction. Throws `conflict` when the result has ended.
 */
export async function callBack(ctx: Ctx, id: string, { attributes, relationships }: TaskCallback) {
  checkCallbackToken(ctx, id)
  const { status, message, url } = attributes
  const outcomes = [...(relationships.outcomes?.data ?? []), ...(relationships['task-result-outcomes']?.data ?? [])]
  const rows = newOutcomes(
    ctx,
    outcomes.map((outcome) => outcome.attributes),
  )
  const word = { message: message || null, url: url || null, now: ctx.now() }

  await transact(ctx, async (ctx) => {
    if (status === 'running') {
      const open = await store.noteProgress(ctx.db, id, {
        ...word,
        timeoutMs: ctx.config.runTaskTimeout,
        longestMs: longestWait(ctx),
      })
      if (!open) await refuse(ctx, id)
      if (rows.length > 0) await mergeOutcomes(ctx.db, id, { rows, now: ctx.now() })
      await recordCallback(ctx, id, status)
      return
    }
    // Before anything is held: the callbacks of a stage wait for each other from here on.
    await recordCallback(ctx, id, status)
    if (ctx.actor.kind === 'task') await store.holdWorkspaceOfRun(ctx.db, ctx.actor.runId)
    const ended = await store.endResult(ctx.db, id, { ...word, status })
    if (!ended) return refuse(ctx, id)
    if (rows.length > 0) await mergeOutcomes(ctx.db, id, { rows, now: ctx.now() })
    if (ended.open === 0) await settleStage(ctx, ended.task_stage_id)
  })
}

async function recordCallback(ctx: TransactionCtx, id: string, status: string) {
  const run = ctx.actor.kind === 'task' ? ctx.actor.runId : ''
  await recordAudit(ctx, {
    organizationId: { run },
    action: 'callback',
    resource: { type: 'task_result', id },
    meta: { run, status },
  })
}

async function refuse(ctx: { db: Tx }, id: string) {
  const row = await store.findStatus(ctx.db, id)
  throw conflict(`the task result is ${row?.status ?? 'gone'}, it takes no further callback`)
}

/** The last one of each id counts. */
function newOutcomes(ctx: Ctx, outcomes: readonly TaskOutcome[]): NewOutcome[] {
  const byId = new Map(outcomes.map((outcome) => [outcome['outcome-id'], outcome]))
  return [...byId.values()].map((outcome) => ({
    id: ctx.newId('taskrso'),
    outcome_id: outcome['outcome-id'],
    description: outcome.description,
    url: outcome.url || null,
    tags: outcome.tags ? JSON.stringify(tagGroups(outcome.tags)) : null,
    body: outcome.body ?? null,
  }))
}

/** Groups as clients read them, in a list; the two that are shown in a special way are known in any case. */
function tagGroups(tags: NonNullable<TaskOutcome['tags']>) {
  return Object.entries(tags).map(([label, value]) => ({
    label: ['severity', 'status'].includes(label.toLowerCase()) ? label.toLowerCase() : label,
    value,
  }))
}
