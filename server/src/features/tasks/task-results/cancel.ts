import type { TransactionCtx } from '../../../app.ts'
import * as store from './store.ts'

/** The run has ended: running results are canceled, pending ones become unreachable, and every token is deleted. */
export async function cancelResults(ctx: TransactionCtx, run: EndedRun) {
  const message = ENDS[run.status] ?? `the run ended as ${run.status}`
  await store.cancelResults(ctx.db, run.id, { message, now: ctx.now() })
}

export type EndedRun = { id: string; status: string }

const ENDS: Record<string, string> = {
  canceled: 'the run was canceled',
  force_canceled: 'the run was canceled by force',
  discarded: 'the run was discarded',
}
