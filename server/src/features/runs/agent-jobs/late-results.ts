import type { FinishJob } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { transact } from '../../../db/db.ts'
import { LATE_RESULT_WINDOW_MS, artifactKey } from '../plans/artifact.ts'
import { applyChange } from '../runs/advance.ts'
import { lockRun } from '../runs/locked-run-store.ts'
import { insertNotice } from './log-store.ts'
import { type Job, countColumns, lockLostApply, markLateResult } from './store.ts'

/**
 * Records what an agent reports of an apply that it had lost. The run stays errored, since another may have begun meanwhile;
 * its log, its history and its error say how the apply has really ended. Does nothing for any other job, and the second time.
 */
export async function recordLateResult(ctx: Ctx, job: Job, body: FinishJob) {
  // Outside of the transaction, which must not wait for the store of objects. The agent sends the state before the result.
  const keepsState = job.kind === 'apply' && (await hasErroredState(ctx, job))
  await transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: job.run_id, workspaceId: job.workspace_id })
    const lost = locked && (await lockLostApply(ctx.db, job.id, new Date(ctx.now().getTime() - LATE_RESULT_WINDOW_MS)))
    if (!locked || !lost) return
    const description = lateNotice(ctx, { agentName: lost.agent_name, body, keepsState, applyId: locked.apply.id })
    await insertNotice(ctx.db, locked.apply.id, description)
    await markLateResult(ctx.db, job.id, ctx.now())
    await applyChange(ctx, locked, {
      ...(body.counts && { apply: countColumns(body) }),
      run: { error: description },
      events: [{ action: 'late_result', description }],
    })
  })
}

export type Facts = { agentName: string | null; body: FinishJob; keepsState: boolean; applyId: string }

export function lateNotice(ctx: TransactionCtx, { agentName, body, keepsState, applyId }: Facts) {
  const agent = `the agent ${agentName ?? ''}`.trim()
  const time = `${ctx.now().toISOString().slice(0, 19)}Z`
  const state = keepsState
    ? `the state that it could not store is kept: download it at ${ctx.baseUrl}/api/v2/applies/${applyId}/errored-state, ` +
      'and compare it with the state of the workspace before the next apply'
    : 'it has left no state that is not stored'
  return `${agent} was back at ${time}: ${reported(body)}; ${state}`
}

export function reported({ status, message }: FinishJob) {
  if (status === 'finished') return 'the apply had finished'
  return `the apply had ${status === 'canceled' ? 'been canceled' : 'failed'}${message === undefined ? '' : ` (${message})`}`
}

export async function hasErroredState(ctx: Ctx, job: Job) {
  try {
    const content = await ctx.blobs.open(artifactKey(job.run_id, job.id, 'errored-state'))
    content.destroy()
    return true
  } catch (error) {
    if (error instanceof BlobNotFoundError) return false
    throw error
  }
}
