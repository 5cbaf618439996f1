import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/**
 * Time that a command line gets before a run ends by a failure that follows its plan, in ms. Terraform notices the end of a plan late: it
 * asks every 1 to 3 s whether a run still waits, and then reads the log every 0.5 to 2 s. After the log it reads the run, and if that has
 * errored, shows neither the changes, nor the stages, nor the log of the apply. It reads the verdict of a stage 4 s after it has come to
 * the stage: the run has ended by then.
 */
const COMMAND_LINE_MS = 4000

/** A failed apply is reported this late at most, in ms: the command line waits for the end of the log that it shows. */
export const MAX_APPLY_DEFERRAL_MS = 2000

/** The end of the deferral of a failure that comes `now`, after a plan or stage of that time; undefined when it is not deferred. */
export function deferredUntil(since: Date, now: Date, maxMs = COMMAND_LINE_MS): Date | undefined {
  const until = new Date(Math.min(since.getTime() + COMMAND_LINE_MS, now.getTime() + maxMs))
  return until > now ? until : undefined
}

/** Ends a run whose failure was deferred. */
export const endDeferralJob = jobKind('run.advance', z.object({ runId: z.string() }), { concurrency: 2 })
