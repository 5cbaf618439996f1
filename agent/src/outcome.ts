import type { FinishJob } from '@groundstate/contract/agent'
import type { Stopped } from './process.ts'
import { EngineFailed } from './run-engine.ts'

/** Whether the agent says in its own words what went wrong, which is somebody's mistake. Anything else is a bug. */
export function isOwnWord(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && !('code' in error)
}

/** The outcome of a job that an error has ended. */
export function failedOutcome(error: unknown): FinishJob {
  const message = error instanceof Error ? error.message : String(error)
  const exitCode = error instanceof EngineFailed ? error.exitCode : null
  return { status: 'errored', exitCode, message: message.slice(0, 10_000) }
}

/** The outcome of a job that was told to stop. */
export function stoppedOutcome(reached: FinishJob, { kind, message }: Stopped): FinishJob {
  const status = kind === 'canceled' || kind === 'force-canceled' ? 'canceled' : 'errored'
  return { ...reached, status, message }
}
