/** What holds a run back, as the database tells it; times as JSON has them. */
export type WaitingCause = Partial<{
  lockedBy: string | null
  lockedByRun: boolean | null
  lockedAt: string | null
  lockedReason: string | null
  activeRunId: string | null
  ahead: number
  previousRunId: string | null
  poolName: string
  poolIsBuiltIn: boolean
  agentsOnline: number
  jobsAhead: number
  agentName: string | null
  leaseExpiresAt: string | null
}>

/** An agent at work keeps more of its lease than this, in ms: with less left it has missed a heartbeat. */
const LEAST_LEASE_MS = 15_000

/** A task whose verdict a run waits for. */
export type WaitingTask = { name: string; deadline: Date }

/**
 * Why a run waits, in words for people; null when it does not wait, or only for an agent that is about to take it or at work. The
 * nearest reason is told: a lock that a person holds before the place in line, since nothing moves until it is released.
 */
export function waitingReason(
  facts: WaitingCause | null,
  { tasks = [], now }: { tasks?: readonly WaitingTask[]; now: Date },
): string | null {
  if (tasks.length > 0) return tasksReason(tasks, now)
  if (!facts) return null
  if (facts.leaseExpiresAt) return silenceReason(facts, new Date(facts.leaseExpiresAt), now)
  if (facts.ahead !== undefined) return lineReason(facts, facts.ahead)
  if (facts.agentsOnline === 0) {
    return facts.poolIsBuiltIn
      ? 'no agent of this server is online: start it with agents, or give the workspace an agent pool'
      : `no agent of the pool ${facts.poolName} is online`
  }
  if (facts.jobsAhead) {
    const where = facts.poolIsBuiltIn ? 'of this server' : `of the pool ${facts.poolName}`
    return `every agent ${where} is busy, ${count(facts.jobsAhead, 'job')} ahead`
  }
  return null
}

/** The tasks that a run waits for, from the column that tells its stages. */
export function openTasks(stages: { open: { name: string; deadline: string }[] | null } | null): WaitingTask[] {
  return (stages?.open ?? []).map(({ name, deadline }) => ({ name, deadline: new Date(deadline) }))
}

/** Names shown before the rest is only counted. */
const MAX_NAMES = 5

function tasksReason(tasks: readonly WaitingTask[], now: Date) {
  const sorted = tasks.toSorted((a, b) => a.deadline.getTime() - b.deadline.getTime() || (a.name < b.name ? -1 : 1))
  const names = sorted.slice(0, MAX_NAMES).map((task) => task.name)
  if (sorted.length > MAX_NAMES) names.push(count(sorted.length - MAX_NAMES, 'other'))
  const left = clock((sorted[0]?.deadline.getTime() ?? 0) - now.getTime())
  if (names.length === 1) return `task ${names[0]} has not called back, ${left} left`
  return `tasks ${names.slice(0, -1).join(', ')} and ${names.at(-1)} have not called back, ${left} left`
}

function silenceReason({ agentName }: WaitingCause, expiry: Date, now: Date) {
  if (expiry.getTime() - now.getTime() > LEAST_LEASE_MS) return null
  const agent = agentName ? `the agent ${agentName}` : 'its agent'
  return `waiting for a sign of life of ${agent} until ${expiry.toISOString().slice(11, 19)} UTC`
}

function lineReason(facts: WaitingCause, ahead: number) {
  if (facts.lockedBy && !facts.lockedByRun) {
    const reason = facts.lockedReason ? `: ${facts.lockedReason}` : ''
    return `the workspace is locked by ${facts.lockedBy} since ${facts.lockedAt && new Date(facts.lockedAt).toISOString()}${reason}`
  }
  const before = ahead > 0 ? facts.previousRunId : facts.activeRunId
  return before ? `${ordinal(ahead + 1)} in line behind ${before}` : null
}

function count(number: number, noun: string) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function ordinal(number: number) {
  const rest = number % 100
  const ending = rest >= 11 && rest <= 13 ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[number % 10] ?? 'th')
  return `${number}${ending}`
}

function clock(ms: number) {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
