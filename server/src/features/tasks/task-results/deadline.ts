import type { Ctx } from '../../../app.ts'
import type { LastDelivery } from './deliveries-store.ts'
import type { OverdueResult } from './store.ts'

/** How long a result may stay open in all, in ms: running callbacks move its deadline no further. */
export function longestWait(ctx: Pick<Ctx, 'config'>) {
  return 6 * ctx.config.runTaskTimeout
}

/** Why a result has missed its deadline; `last` is the last delivery of its request. */
export function overdueMessage(
  result: OverdueResult,
  { last, longestMs }: { last: LastDelivery | undefined; longestMs: number },
) {
  const until = (since: Date | null) => (result.deadline_at?.getTime() ?? 0) - (since?.getTime() ?? 0)
  if (result.called_back_at && until(result.started_at) >= longestMs) {
    return `no verdict came within ${duration(longestMs)}, which is the longest that running callbacks put it off`
  }
  const waited = duration(until(result.called_back_at ?? result.started_at))
  if (result.called_back_at) return `no further callback came within ${waited} after the last one`
  if (result.delivered_at) return `no callback came within ${waited}`
  const why = last?.response_status
    ? `it was answered with ${last.response_status}`
    : (last?.error ?? 'no response came')
  const times = result.attempts === 1 ? '1 attempt' : `${result.attempts} attempts`
  return `no callback came within ${waited}, and the request was not delivered in ${times}: ${why}`
}

function duration(ms: number) {
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} minutes`
  return `${Math.round(ms / 100) / 10} s`
}
