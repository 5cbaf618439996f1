/** Waiting cause of a run as the database returns it; times as in JSON. */
export type WaitingCause = Partial<{
  lockedBy: string | null
  lockedByRun: boolean | null
  lockedAt: string | null
  lockedReason: string | null
  activeRunId: string | null
  /** Number of runs before it in its workspace's queue, capped like `jobsBefore`. */
  queuePosition: number
  previousRunId: string | null
  poolName: string
  poolIsBuiltIn: boolean
  agentsOnline: boolean
  /** Whether an online agent accepts jobs of this kind. */
  agentsAccept: boolean
  kind: 'plan' | 'apply'
  /** The limit of concurrent jobs, if it is reached. */
  poolLimit: number | null
  organizationLimit: number | null
  /** Number of jobs before it in the pool's queue, capped at `MAX_JOBS_COUNTED` + 1. */
  jobsBefore: number
  /** Status of its evaluation of policies. */
  policies: 'running' | 'failed' | 'errored'
  /** Whether agents have been asked to evaluate them. */
  policiesQueued: boolean
  policyMessage: string | null
  isOverridable: boolean
  /** Why the fetch of its configuration is repeated. */
  fetchProblem: string | null
  agentName: string | null
  leaseExpiresAt: string | null
  leaseMs: number
}>

export const MAX_JOBS_COUNTED = 1000

/** Fraction of a lease that must have passed before a heartbeat renews it in the database. */
export const RENEWAL_THRESHOLD = 0.1

/** Time after which an agent has missed a heartbeat that would have renewed its lease, in ms. */
const HEARTBEAT_TIMEOUT_MS = 15_000

/** A run task whose result a run waits for; `pool` is the name of the agent pool in whose queue its request is. */
type WaitingTask = { name: string; deadline: Date; pool?: string | null }
export type OpenTask = Omit<WaitingTask, 'deadline'> & { deadline: string }

/** The reason why a run waits, or null. A user's lock takes precedence over the queue, which does not move until the lock is released. */
export function waitingReason(
  cause: WaitingCause | null,
  { tasks = [], now }: { tasks?: readonly WaitingTask[]; now: Date },
): string | null {
  const policies = cause?.policies === undefined ? null : policiesReason(cause, now)
  if (tasks.length > 0) return [policies, tasksReason(tasks, now)].filter((reason) => reason !== null).join('; ')
  if (!cause || cause.policies !== undefined) return policies
  if (cause.leaseExpiresAt) return silenceReason(cause, new Date(cause.leaseExpiresAt), now)
  if (cause.fetchProblem) return cause.fetchProblem
  if (cause.queuePosition !== undefined) return queueReason(cause, cause.queuePosition)
  if (cause.agentsOnline !== undefined) return agentReason(cause)
  return null
}

/** Null while an agent evaluates the policies, or they are about to be queued. */
function policiesReason({ policies, policiesQueued, policyMessage, isOverridable, ...cause }: WaitingCause, now: Date) {
  if (policies !== 'running') {
    const reason = policyMessage === null ? '' : `: ${policyMessage}`
    return isOverridable === true ? `failed policies must be overridden, or the run discarded${reason}` : null
  }
  if (policiesQueued !== true || (cause.leaseExpiresAt && new Date(cause.leaseExpiresAt) > now)) return null
  const agents = cause.poolIsBuiltIn === true ? 'this server' : poolText(cause)
  if (cause.agentsOnline !== true) return `no agent of ${agents} is online to evaluate its policies`
  if (cause.agentsAccept !== true) return `no agent of ${agents} that is online evaluates policies`
  return `its policies wait for an agent of ${agents}`
}

function poolText({ poolName, poolIsBuiltIn }: WaitingCause) {
  return poolIsBuiltIn === true ? 'the pool of this server' : `the pool ${poolName}`
}

function agentReason(cause: WaitingCause) {
  const { agentsOnline, agentsAccept, kind, poolLimit, organizationLimit, jobsBefore = 0, ...pool } = cause
  const poolName = poolText(pool)
  if (!agentsOnline) {
    return pool.poolIsBuiltIn
      ? 'no agent of this server is online: start it with agents, or give the workspace an agent pool, cancel this run and start another'
      : `no agent of ${poolName} is online`
  }
  if (!agentsAccept) return `no agent of ${poolName} that is online takes ${kind === 'plan' ? 'plans' : 'applies'}`
  if (organizationLimit) return `the organization is at its limit of ${count(organizationLimit, 'run')} at once`
  if (poolLimit) return `${poolName} is at its limit of ${count(poolLimit, 'job')} at once`
  if (jobsBefore > MAX_JOBS_COUNTED) return `more than ${MAX_JOBS_COUNTED} jobs before it in ${poolName}`
  return jobsBefore > 0 ? `${count(jobsBefore, 'job')} before it in ${poolName}` : `starts next in ${poolName}`
}

/** The tasks that a run waits for, from `stagesColumn`. */
export function openTasks(stages: { open: OpenTask[] | null } | null): WaitingTask[] {
  return (stages?.open ?? []).map((task) => ({ ...task, deadline: new Date(task.deadline) }))
}

/** Number of task names shown; the others are counted. */
const MAX_NAMES = 5

function tasksReason(tasks: readonly WaitingTask[], now: Date) {
  const sorted = tasks.toSorted((a, b) => a.deadline.getTime() - b.deadline.getTime() || (a.name < b.name ? -1 : 1))
  const [first] = sorted
  const left = clock((first?.deadline.getTime() ?? 0) - now.getTime())
  if (sorted.length === 1 && first?.pool) {
    return `task ${first.name} waits for an agent of the pool ${first.pool}, ${left} left`
  }
  const names = sorted
    .slice(0, MAX_NAMES)
    .map(({ name, pool }) => (pool ? `${name} (waits for an agent of the pool ${pool})` : name))
  if (sorted.length > MAX_NAMES) names.push(count(sorted.length - MAX_NAMES, 'other'))
  if (names.length === 1) return `task ${names[0]} has not called back, ${left} left`
  return `tasks ${names.slice(0, -1).join(', ')} and ${names.at(-1)} have not called back, ${left} left`
}

function silenceReason({ agentName, leaseMs = 0 }: WaitingCause, expiry: Date, now: Date) {
  const silentMs = leaseMs - (expiry.getTime() - now.getTime())
  if (silentMs < Math.min(RENEWAL_THRESHOLD * leaseMs + HEARTBEAT_TIMEOUT_MS, leaseMs / 2)) return null
  const agent = agentName ? `the agent ${agentName}` : 'its agent'
  return `waiting for a heartbeat of ${agent} until ${expiry.toISOString().slice(11, 19)} UTC`
}

function queueReason(cause: WaitingCause, position: number) {
  if (cause.lockedBy && !cause.lockedByRun) {
    const reason = cause.lockedReason ? `: ${cause.lockedReason}` : ''
    return `the workspace is locked by ${cause.lockedBy} since ${cause.lockedAt && new Date(cause.lockedAt).toISOString()}${reason}`
  }
  const before = position > 0 ? cause.previousRunId : cause.activeRunId
  if (!before) return null
  const place = position > MAX_JOBS_COUNTED ? `after more than ${MAX_JOBS_COUNTED} others` : ordinal(position + 1)
  return `${place} in the queue behind ${before}`
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
