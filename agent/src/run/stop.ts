import type { AgentJob } from '@groundstate/contract/agent'
import { type StopKind, type StopSignals, Stopped } from '../process/process.ts'

/** Grace period of an abandoned apply, to store its state, in ms. */
const LAST_GRACE_MS = 15_000
/** Minimum grace period of an apply whose server is unreachable or whose agent is dead, in ms. */
export const UNREACHABLE_GRACE_MS = 300_000
/** Timeout for final reports during shutdown, in ms. */
const LAST_REPORT_MS = 10_000

/**
 * Collects the reasons to stop a job: a user's action, its time limit, the agent's shutdown, the loss of its lease.
 *
 * An apply is always interrupted, so that it can store its state; a plan can be repeated and is killed. The outcome of an apply is reported
 * once the server is reachable again.
 */
export function createStop(job: AgentJob, forceful: AbortSignal) {
  const interrupt = new AbortController()
  const kill = new AbortController()
  const lost = new AbortController()
  const listeners: ((reason: Stopped) => void)[] = []
  let graceMs = job.graceMs
  let lastReport: NodeJS.Timeout | undefined

  function stop(kind: StopKind, message = MESSAGES[kind](job)) {
    const reason = new Stopped(kind, message)
    for (const listener of listeners) listener(reason)
    if (kind === 'unreachable') graceMs = Math.max(graceMs, UNREACHABLE_GRACE_MS)
    if (kind === 'lease-lost' || kind === 'agent-stopped') graceMs = Math.min(graceMs, LAST_GRACE_MS)
    if (kind === 'lease-lost') lost.abort(reason)
    // An engine already without a server keeps its time limit: storing its state matters more than a quick end.
    if (kind === 'agent-stopped') lastReport = setTimeout(() => lost.abort(reason), graceMs + LAST_REPORT_MS)
    const expendable = job.kind === 'plan' && (kind === 'lease-lost' || kind === 'agent-stopped')
    if (kind === 'force-canceled' || expendable) kill.abort(reason)
    interrupt.abort(reason)
  }

  const onForceful = () => stop('agent-stopped')
  forceful.addEventListener('abort', onForceful)
  if (forceful.aborted) onForceful()
  const limit = setTimeout(() => stop('time-limit'), Math.min(job.timeLimitMs, MAX_TIMER_MS))

  return {
    signals: { interrupt: interrupt.signal, kill: kill.signal, graceMs: () => graceMs } satisfies StopSignals,
    /** Aborts when nothing more of this job can be reported: the server accepts nothing, or the agent shuts down. */
    alive: lost.signal,
    stop,
    /** The server is unreachable, or has abandoned the job. */
    lose(why: string, isDeleted = false) {
      if (lost.signal.aborted) return
      if (job.kind === 'plan' || isDeleted) return stop('lease-lost', why)
      const { reason } = interrupt.signal
      // Logged once, although a long outage is noticed repeatedly.
      if (!(reason instanceof Stopped) || reason.kind !== 'unreachable')
        stop('unreachable', `The apply was interrupted: ${why}.`)
    },
    onStop: (listener: (reason: Stopped) => void) => void listeners.push(listener),
    /** The most severe reason so far. */
    reason() {
      const signal = [lost, kill, interrupt].find((controller) => controller.signal.aborted)?.signal
      return signal?.reason instanceof Stopped ? signal.reason : undefined
    },
    [Symbol.dispose]() {
      clearTimeout(limit)
      clearTimeout(lastReport)
      forceful.removeEventListener('abort', onForceful)
    },
  }
}

/** Maximum delay of a timer in Node, in ms; longer ones fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

const MESSAGES = {
  canceled: ({ kind }) => `The ${kind} was canceled: the engine is interrupted.`,
  'force-canceled': ({ kind }) => `The ${kind} was force-canceled: the engine is killed.`,
  'time-limit': ({ kind, timeLimitMs }) => `The ${kind} took longer than its time limit of ${duration(timeLimitMs)}.`,
  'agent-stopped': ({ kind }) => `The ${kind} was interrupted: its agent is shutting down.`,
  'lease-lost': ({ kind }) => `The ${kind} was dropped: the agent lost its lease.`,
  unreachable: ({ kind }) => `The ${kind} was interrupted: its agent could not reach the server.`,
} as const satisfies Record<StopKind, (job: AgentJob) => string>

function duration(ms: number): string {
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'min'],
    [(ms / 1_000) % 60, 's'],
  ].filter(([amount]) => amount !== 0)
  return parts.map((part) => part.join(' ')).join(' ')
}
