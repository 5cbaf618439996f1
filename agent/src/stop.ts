import type { AgentJob } from '@groundstate/contract/agent'
import { Stopped, type StopKind, type StopSignals } from './process.ts'

/** What an apply that nobody waits for any more gets to store its state, in ms. */
const LAST_GRACE_MS = 15_000

/** Every way in which a job is told to stop. */
export type Stop = Disposable & {
  signals: { stop: StopSignals; alive: AbortSignal }
  /** Aborts when the server no longer takes anything of this job. */
  alive: AbortSignal
  stop: (kind: Exclude<StopKind, 'lease-lost'>) => void
  lose: (reason: Stopped) => void
  /** Hears of each stop as it happens. */
  onStop: (listener: (reason: Stopped) => void) => void
  /** The gravest reason so far. */
  reason: () => Stopped | undefined
}

/**
 * Collects the reasons to stop a job: a person's command, its time limit, the end of the agent, the loss of its lease.
 *
 * What must be stored is interrupted, what can be made again is killed: so an apply gets a short grace even where nobody
 * waits for it, and a plan does not.
 */
export function createStop(job: AgentJob, forceful: AbortSignal): Stop {
  const interrupt = new AbortController()
  const kill = new AbortController()
  const lost = new AbortController()
  const listeners: ((reason: Stopped) => void)[] = []
  let graceMs = job.graceMs

  function stop(kind: StopKind, message = MESSAGES[kind](job)) {
    const reason = new Stopped(kind, message)
    for (const listener of listeners) listener(reason)
    if (kind === 'lease-lost' || kind === 'agent-stopped') graceMs = Math.min(graceMs, LAST_GRACE_MS)
    if (kind === 'lease-lost') lost.abort(reason)
    const expendable = job.kind === 'plan' && (kind === 'lease-lost' || kind === 'agent-stopped')
    if (kind === 'force-canceled' || expendable) kill.abort(reason)
    interrupt.abort(reason)
  }

  const onForceful = () => stop('agent-stopped')
  forceful.addEventListener('abort', onForceful)
  if (forceful.aborted) onForceful()
  const limit = setTimeout(() => stop('time-limit'), Math.min(job.timeLimitMs, LONGEST_TIMER_MS))

  return {
    signals: {
      stop: { interrupt: interrupt.signal, kill: kill.signal, graceMs: () => graceMs },
      alive: lost.signal,
    },
    alive: lost.signal,
    stop,
    lose: (reason) => stop('lease-lost', reason.message),
    onStop: (listener) => void listeners.push(listener),
    reason() {
      const signal = [lost, kill, interrupt].find((controller) => controller.signal.aborted)?.signal
      return signal?.reason instanceof Stopped ? signal.reason : undefined
    },
    [Symbol.dispose]() {
      clearTimeout(limit)
      forceful.removeEventListener('abort', onForceful)
    },
  }
}

/** Node fires a timer beyond this at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

const MESSAGES = {
  canceled: ({ kind }) => `The ${kind} was canceled: the engine is interrupted.`,
  'force-canceled': ({ kind }) => `The ${kind} was canceled by force: the engine is killed.`,
  'time-limit': ({ kind, timeLimitMs }) => `The ${kind} took longer than its time limit of ${duration(timeLimitMs)}.`,
  'agent-stopped': ({ kind }) => `The ${kind} was interrupted: its agent is shutting down.`,
  'lease-lost': ({ kind }) => `The ${kind} was dropped: the agent lost its lease.`,
} as const satisfies Record<StopKind, (job: AgentJob) => string>

function duration(ms: number): string {
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'min'],
    [(ms / 1_000) % 60, 's'],
  ].filter(([amount]) => amount !== 0)
  return parts.map((part) => part.join(' ')).join(' ')
}
