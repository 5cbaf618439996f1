import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import type { TransactionCtx } from '../../../app.ts'
import { announceResults } from './announce.ts'
import * as store from './store.ts'

/** The run has ended: running results are canceled, pending ones become unreachable, and every token is deleted. */
export async function cancelResults(ctx: TransactionCtx, run: EndedRun) {
  const { stopped } = RUN_STATUS_TABLE[run.status]
  const message = stopped === undefined ? `the run ended as ${run.status}` : `the run was ${stopped}`
  await store.cancelResults(ctx.db, run.id, { message, now: ctx.now() })
  await announceResults(ctx, { runId: run.id })
}

export type EndedRun = { id: string; status: RunStatus }
