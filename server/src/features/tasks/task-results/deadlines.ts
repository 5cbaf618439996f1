import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { settleStage } from '../../runs/task-stages/service.ts'
import { listLastDeliveries } from './deliveries-store.ts'
import * as store from './store.ts'

/** How many results one look ends, and how many runs at once. */
const BATCH = 500
const AT_ONCE = 4

/** How long a result stays open in all, in ms: running callbacks put its deadline off up to here. */
export function longestWait(ctx: Pick<Ctx, 'config'>) {
  return 6 * ctx.config.runTaskTimeout
}

/** Ends results as errored, and moves their run when that decides its stage. What has ended already stays as it is. */
export async function endResults(ctx: Ctx, runId: string, ends: readonly { id: string; message: string }[]) {
  await transact(ctx, async (ctx) => {
    await store.holdWorkspaceOfRun(ctx.db, runId)
    const stages = await store.endErrored(ctx.db, ends, ctx.now())
    for (const stageId of stages) await settleStage(ctx, stageId)
  })
}

/** Ends every result whose deadline has passed; the deadline stands in the row, so no restart moves it. */
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
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

type Overdue = Awaited<ReturnType<typeof store.listOverdue>>[number]
type Last = Awaited<ReturnType<typeof listLastDeliveries>>[number]

function overdueMessage(row: Overdue, { last, longestMs }: { last: Last | undefined; longestMs: number }) {
  const until = (since: Date | null) => (row.deadline_at?.getTime() ?? 0) - (since?.getTime() ?? 0)
  if (row.called_back_at && until(row.started_at) >= longestMs) {
    return `no verdict came within ${duration(longestMs)}, which is the longest that running callbacks put it off`
  }
  const waited = duration(until(row.called_back_at ?? row.started_at))
  if (row.called_back_at) return `no further callback came within ${waited} after the last one`
  if (row.delivered_at) return `no callback came within ${waited}`
  const why = last?.response_status ? `it was answered with ${last.response_status}` : (last?.error ?? 'no answer came')
  const times = row.attempts === 1 ? '1 attempt' : `${row.attempts} attempts`
  return `no callback came within ${waited}, and the request was not delivered in ${times}: ${why}`
}

function duration(ms: number) {
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} minutes`
  return `${Math.round(ms / 100) / 10} s`
}
