import type { TaskResultStatus } from '@groundstate/contract/task-results'

/** A result as its stage counts it. */
export type Vote = {
  task_name: string
  status: TaskResultStatus
  enforcement_level: 'advisory' | 'mandatory'
  message: string | null
}
export type Verdict = { status: 'passed' | 'failed' | 'errored'; message: string | null }

/**
 * What the results of a stage decide together; undefined while one of them is open. The most restrictive wins: a
 * mandatory task that did not pass stops the run, an advisory one is reported as a warning.
 */
export function stageVerdict(votes: readonly Vote[]): Verdict | undefined {
  if (votes.some(({ status }) => status === 'pending' || status === 'running')) return undefined
  // A canceled result was never asked for.
  const against = votes.filter(({ status }) => status !== 'passed' && status !== 'canceled')
  const mandatory = against.filter((vote) => vote.enforcement_level === 'mandatory')
  if (mandatory.length > 0) {
    const failed = mandatory.some(({ status }) => status === 'failed')
    return { status: failed ? 'failed' : 'errored', message: mandatory.map(describeVote).join('; ') }
  }
  return { status: 'passed', message: against.length === 0 ? null : against.map(describeVote).join('; ') }
}

function describeVote({ task_name, status, enforcement_level, message }: Vote) {
  const why = message === null || message === '' ? '' : `: ${message}`
  return `the ${enforcement_level} task ${task_name} ${status === 'unreachable' ? 'was unreachable' : status}${why}`
}
