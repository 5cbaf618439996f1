/** A phase of a run is its plan or its apply. One is `unreachable` when the run ended before it. */
export const PHASE_STATUS = ['pending', 'queued', 'running', 'finished', 'errored', 'canceled', 'unreachable'] as const
export type PhaseStatus = (typeof PHASE_STATUS)[number]

const OPEN: ReadonlySet<PhaseStatus> = new Set(['pending', 'queued', 'running'])

/** Whether a phase has ended; clients wait for these statuses. */
export function isPhaseOver(status: PhaseStatus) {
  return !OPEN.has(status)
}
