import type { RunStatus } from '@groundstate/contract/run-status'
import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'
import type { RunRow } from './locked-run-store.ts'

/* The CLI shows no changes, stages or apply log of a run that is errored already, so failures after a plan are deferred. */

/** Terraform reads the result of a stage 4 s after it reaches the stage; results after that end the run immediately. In ms. */
export const RESULT_DEFERRAL_MS = 4000

/** Deferral of an apply that follows post-plan or pre-apply stages, in ms: terraform polls these less often. */
const STAGES_DEFERRAL_MS = 5500
/** Margin for the CLI's requests, in ms. */
const MARGIN_MS = 1000

/** The end of the deferral, undefined once passed. Terraform polls a queued run every 1 to 3 s, then the plan's log every 0.5 to 2 s. */
export function applyDeferredUntil(run: Pick<RunRow, 'stages' | 'status_timestamps'>, now: Date): Date | undefined {
  const stamps = run.status_timestamps as Record<string, string>
  const at = (status: RunStatus) => Date.parse(stamps[status] ?? '')
  const [created, started, planned] = [at('pending'), at('fetching'), at('apply_queued')]
  const pausesMs = pauseAfter(started - created, 1000, 3000) + pauseAfter(planned - started, 500, 2000)
  const isWatched = run.stages.some((stage) => stage === 'post_plan' || stage === 'pre_apply')
  return deferredUntil(new Date(planned), now, isWatched ? STAGES_DEFERRAL_MS : MARGIN_MS + pausesMs)
}

/** Terraform's current backoff after polling for some time: each pause is longer by a factor of 2^(1/5). */
function pauseAfter(polledMs: number, minMs: number, maxMs: number) {
  return Math.min(maxMs, minMs + (2 ** 0.2 - 1) * polledMs)
}

/** `deferralMs` after `since`; undefined if that is not after `now`. */
export function deferredUntil(since: Date, now: Date, deferralMs: number): Date | undefined {
  const until = new Date(since.getTime() + deferralMs)
  return until > now ? until : undefined
}

/** Ends a run whose failure was deferred. */
export const endDeferralJob = jobKind('run.advance', z.object({ runId: z.string() }), { concurrency: 2 })
