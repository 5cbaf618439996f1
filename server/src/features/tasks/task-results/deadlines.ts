import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events.ts'
import { type LastDelivery, listLastDeliveries } from './deliveries-store.ts'
import { announceResults, resultsEnded } from './events.ts'
import * as store from './store.ts'

/** Number of overdue results per batch, and of runs processed concurrently. */
const BATCH = 500
const CONCURRENCY = 4

export async function endResults(ctx: Ctx, runId: string, ends: readonly { id: string; message: string }[]) {
  await transact(ctx, async (ctx) => {
    await store.lockWorkspaceOfRun(ctx.db, runId)
    const stageIds = await store.endErrored(ctx.db, ends, ctx.now())
    await announceResults(ctx, { ids: ends.map(({ id }) => id) })
    if (stageIds.length > 0) await raise(ctx, resultsEnded, { runId, stageIds })
  })
}

/** Ends every result whose deadline has passed. Deadlines are stored, so a restart does not move them. */
export async function endOverdueResults(ctx: Ctx) {
  const overdue = await store.listOverdue(ctx.db, ctx.now(), BATCH)
  if (overdue.length === 0) return
  const ids = overdue.map(({ id }) => id)
  const last = new Map((await listLastDeliveries(ctx.db, ids)).map((row) => [row.task_result_id, row]))
  const messageOf = (row: store.OverdueResult) =>
    overdueMessage(row, { last: last.get(row.id), maxMs: maxResultMs(ctx) })
  const runs = [...Map.groupBy(overdue, (row) => row.run_id)]
  const worker = async () => {
    for (let next = runs.pop(); next; next = runs.pop()) {
      const [runId, rows] = next
      const ends = rows.map((row) => ({ id: row.id, message: messageOf(row) }))
      await endResults(ctx, runId, ends)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** Maximum time a result may stay open, in ms; `running` callbacks cannot extend its deadline beyond it. */
export function maxResultMs(ctx: Pick<Ctx, 'config'>) {
  return 6 * ctx.config.runTaskTimeout
}

/** The message of a result that missed its deadline; `last` is the last delivery of its request. */
function overdueMessage(
  result: store.OverdueResult,
  { last, maxMs }: { last: LastDelivery | undefined; maxMs: number },
) {
  const until = (since: Date | null) => (result.deadline_at?.getTime() ?? 0) - (since?.getTime() ?? 0)
  if (result.called_back_at && until(result.started_at) >= maxMs) {
    return `no final callback within ${duration(maxMs)}, the maximum for running callbacks`
  }
  const waited = duration(until(result.called_back_at ?? result.started_at))
  if (result.called_back_at) return `no further callback within ${waited} of the last one`
  if (result.delivered_at) return `no callback within ${waited}`
  const reason = last?.response_status ? `the response was ${last.response_status}` : (last?.error ?? 'no response')
  const times = result.attempts === 1 ? '1 attempt' : `${result.attempts} attempts`
  return `no callback within ${waited}, and the request was not delivered in ${times}: ${reason}`
}

function duration(ms: number) {
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} minutes`
  return `${Math.round(ms / 100) / 10} s`
}
