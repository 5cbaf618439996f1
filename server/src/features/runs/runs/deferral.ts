import type { RunStatus } from '@groundstate/contract/run-status'
import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'
import type { RunRow } from './locked-run-store.ts'

/*
 * A command line that reads a run which has errored shows neither the changes, nor the stages, nor the log of the apply. So a run ends late
 * by a failure that follows its plan at once.
 */

/** Terraform reads the verdict of a stage 4 s after it has come to the stage: from then on, a verdict ends the run at once. In ms. */
export const RESULT_DEFERRAL_MS = 4000

/** The deferral of an apply after stages between plan and apply, in ms: terraform watches these with longer pauses. */
const STAGES_DEFERRAL_MS = 5500
/** For the requests of the command line themselves, in ms. */
const MARGIN_MS = 1000

type Stamped = Pick<RunRow, 'stages' | 'status_timestamps'>

/**
 * The end of the deferral of an apply that fails `now`: a command line has seen the end of its plan by then. Undefined when that is over.
 * Terraform asks with pauses from 1 to 3 s whether the run still waits in its queue, and then reads the log of the plan with pauses from
 * 0.5 to 2 s.
 */
export function applyDeferredUntil({ stages, status_timestamps }: Stamped, now: Date): Date | undefined {
  const stamps = status_timestamps as Record<string, string>
  const at = (status: RunStatus) => Date.parse(stamps[status] ?? '')
  const begun = at('fetching')
  const [created, planned] = [at('pending'), at('apply_queued')]
  const pausesMs = pauseAfter(begun - created, 1000, 3000) + pauseAfter(planned - begun, 500, 2000)
  const isWatched = stages.some((stage) => stage === 'post_plan' || stage === 'pre_apply')
  return deferredUntil(new Date(planned), now, isWatched ? STAGES_DEFERRAL_MS : MARGIN_MS + pausesMs)
}

/** The pause of terraform after it has polled for some time. Each is the fifth root of two times as long as the one before. */
function pauseAfter(polledMs: number, minMs: number, maxMs: number) {
  return Math.min(maxMs, minMs + (2 ** 0.2 - 1) * polledMs)
}

/** The end of the deferral of a failure that comes `now`; undefined when it comes `deferralMs` after `since` or later. */
export function deferredUntil(since: Date, now: Date, deferralMs: number): Date | undefined {
  const until = new Date(since.getTime() + deferralMs)
  return until > now ? until : undefined
}

/** Ends a run whose failure was deferred. */
export const endDeferralJob = jobKind('run.advance', z.object({ runId: z.string() }), { concurrency: 2 })
