import type { TaskCallback } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit, type AuditEvent } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { raise } from '../../../events/reaction.ts'
import { requireReceiver } from './access.ts'
import { announceResults } from './announce.ts'
import { longestWait } from './deadline.ts'
import { resultsEnded } from './events.ts'
import { newOutcomes } from './outcome.ts'
import { mergeOutcomes } from './outcomes-store.ts'
import * as store from './store.ts'

/**
 * Records a receiver's callback. `running` keeps the result open; `passed` and `failed` end it and, when it is the last
 * one of its stage, move the run in the same transaction. Throws `conflict` when the result has ended.
 */
export async function recordCallback(ctx: Ctx, id: string, { attributes, relationships }: TaskCallback) {
  const { runId } = requireReceiver(ctx, id)
  const { status, message, url } = attributes
  const given = [...(relationships.outcomes?.data ?? []), ...(relationships['task-result-outcomes']?.data ?? [])]
  const outcomes = newOutcomes(
    ctx,
    given.map((outcome) => outcome.attributes),
  )
  const report = { message: message || null, url: url || null, now: ctx.now() }
  const audit = callbackAudit(id, runId, status)

  await transact(ctx, async (ctx) => {
    await announceResults(ctx, { ids: [id] })
    if (status === 'running') {
      const limits = { timeoutMs: ctx.config.runTaskTimeout, longestMs: longestWait(ctx) }
      if (!(await store.recordProgress(ctx.db, id, { ...report, ...limits }))) throw await refusal(ctx, id)
      if (outcomes.length > 0) await mergeOutcomes(ctx.db, id, { rows: outcomes, now: ctx.now() })
      await recordAudit(ctx, audit)
      return
    }
    // Before the lock, at which the callbacks of a stage wait for each other.
    await recordAudit(ctx, audit)
    await store.lockWorkspaceOfRun(ctx.db, runId)
    const ended = await store.endResult(ctx.db, id, { ...report, status })
    if (!ended) throw await refusal(ctx, id)
    if (outcomes.length > 0) await mergeOutcomes(ctx.db, id, { rows: outcomes, now: ctx.now() })
    if (ended.open === 0) await raise(ctx, resultsEnded, { runId, stageIds: [ended.task_stage_id] })
  })
}

function callbackAudit(id: string, run: string, status: string): AuditEvent {
  return {
    organizationId: { run },
    action: 'callback',
    resource: { type: 'task_result', id },
    meta: { run, status },
    // The organization is not known here.
    notices: [],
  }
}

async function refusal(ctx: TransactionCtx, id: string) {
  const row = await store.findStatus(ctx.db, id)
  return conflict(`the task result is ${row?.status ?? 'gone'}, it takes no further callback`)
}
