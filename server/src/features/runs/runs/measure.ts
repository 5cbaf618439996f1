import { RUN_STATUS_TABLE, type RunStatus, isFinal } from '@groundstate/contract/run-status'
import type { TransactionCtx } from '../../../app.ts'
import { afterCommit } from '../../../db/db.ts'
import { phaseSeconds, runsCreated, runsEnded } from '../../../metrics.ts'
import type { RunRow } from './locked-run-store.ts'
import type { Transition } from './transition.ts'

/** Counts a new run once it is committed. */
export function measureNewRun({ db }: TransactionCtx, { source }: RunRow) {
  afterCommit(db, () => runsCreated.inc({ source }))
}

/** Measures the phase that a run has left, once the transition is committed. */
export function measureTransition(ctx: TransactionCtx, run: RunRow, { path, status }: Transition) {
  const [next] = path
  if (next === undefined) return
  const { db } = ctx
  const phase = phaseOf(run.status)
  const entered = (run.status_timestamps as Record<string, string>)[run.status]
  const seconds = entered === undefined ? undefined : Math.max(0, ctx.now().getTime() - Date.parse(entered)) / 1000
  const outcome = outcomeOf(next)
  afterCommit(db, () => {
    if (phase !== undefined && seconds !== undefined) phaseSeconds.observe({ phase, outcome }, seconds)
    if (isFinal(status) && !isFinal(run.status)) runsEnded.inc({ status })
  })
}

/** Undefined for statuses that a run passes through. */
function phaseOf(status: RunStatus) {
  const { awaits, stage, phase, group } = RUN_STATUS_TABLE[status]
  if (stage !== undefined) return stage
  if (group === 'finished') return undefined
  if (awaits === 'result') return phase
  if (awaits === 'agent') return `${phase}_queued`
  if (awaits === 'decision') return 'approval'
  if (awaits === 'queue') return phase === 'plan' ? 'pending' : 'apply_pending'
  return awaits === 'configuration' ? 'fetching' : undefined
}

function outcomeOf(next: RunStatus) {
  const { group, awaits } = RUN_STATUS_TABLE[next]
  if (group === 'errored') return 'errored'
  if (group === 'stopped') return 'canceled'
  return awaits === 'agent' ? 'requeued' : 'finished'
}
