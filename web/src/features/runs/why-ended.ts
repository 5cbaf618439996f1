import { RUN_STATUS_TABLE, isEnded, hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Stage } from '@groundstate/contract/run-tasks'
import type { Apply, Plan, Run, TaskStage } from './run.ts'

type PhaseFacts = Pick<Plan['attributes'] | Apply['attributes'], 'status' | 'status-timestamps'>

/** Whether a phase ended before an agent began it: it has no log. */
export function wasNeverBegun(phase: PhaseFacts) {
  return hasPhaseEnded(phase.status) && phase['status-timestamps']['started-at'] === undefined
}

/** Why a run ended before all was done; undefined while it goes on, when all was done, or when only the log knows. */
export function whyEnded(run: Pick<Run['attributes'], 'status' | 'error-message'>): string | undefined {
  if (!isEnded(run.status)) return undefined
  const { stopped } = RUN_STATUS_TABLE[run.status]
  return run['error-message'] ?? (stopped && `the run was ${stopped}`)
}

/** Whether the verdict of a stage stops its run; what comes after an apply can't. */
export function stops({ attributes: { stage, status } }: Pick<TaskStage, 'attributes'>) {
  return stage !== 'post_apply' && (status === 'failed' || status === 'errored')
}

/** The stage whose mandatory tasks have stopped the run. */
export function stoppingStage(status: Run['attributes']['status'], stages: readonly TaskStage[]): Stage | undefined {
  return status === 'errored' ? stages.find(stops)?.attributes.stage : undefined
}

/** The steps that a run which has ended never came to, in words. */
export function neverBegun(plan: PhaseFacts | undefined, apply: PhaseFacts | undefined, isPlanOnly: boolean): string[] {
  return [
    ...(plan && wasNeverBegun(plan) ? ['the plan'] : []),
    ...(apply && wasNeverBegun(apply) && !isPlanOnly ? ['the apply'] : []),
  ]
}
