import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events/reaction.ts'
import { announceResults } from './announce.ts'
import { longestWait, overdueMessage } from './deadline.ts'
import { listLastDeliveries } from './deliveries-store.ts'
import { resultsEnded } from './events.ts'
import * as store from './store.ts'

/** How many overdue results are loaded at a time, and how many runs are worked on concurrently. */
const BATCH = 500
const CONCURRENCY = 4

/** Ends results of a run as errored. Results that have ended already stay as they are. */
export async function endResults(ctx: Ctx, runId: string, ends: readonly { id: string; message: string }[]) {
  await transact(ctx, async (ctx) => {
    await store.lockWorkspaceOfRun(ctx.db, runId)
    const stageIds = await store.endErrored(ctx.db, ends, ctx.now())
    await announceResults(ctx, { ids: ends.map(({ id }) => id) })
    if (stageIds.length > 0) await raise(ctx, resultsEnded, { runId, stageIds })
  })
}

/** Ends every result whose deadline has passed. The deadline is a column of the row, so a restart does not move it. */
export async function endOverdueResults(ctx: Ctx) {
  const overdue = await store.listOverdue(ctx.db, ctx.now(), BATCH)
  if (overdue.length === 0) return
  const last = await listLastDeliveries(
    ctx.db,
    overdue.map(({ id }) => id),
  )
  const deliveries = new Map(last.map((row) => [row.task_result_id, row]))
  const runs = [...Map.groupBy(overdue, (row) => row.run_id)]
  const worker = async () => {
    for (let next = runs.pop(); next; next = runs.pop()) {
      const [runId, rows] = next
      await endResults(
        ctx,
        runId,
        rows.map((row) => ({
          id: row.id,
          message: overdueMessage(row, { last: deliveries.get(row.id), longestMs: longestWait(ctx) }),
        })),
      )
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
