import type { Config } from '../../../config.ts'

/**
 * A lease expires when no heartbeat has arrived for this long, in ms. A plan can be made again elsewhere, so it is soon given
 * up. An apply can't, so that it outlasts a longer cut.
 */
export function leaseLength({ lease }: Pick<Config, 'lease'>, kind: 'plan' | 'apply') {
  return kind === 'plan' ? lease : 4 * lease
}

/** An agent that has received a job says so at once. It gets this long, in ms. */
const RECEIPT_MS = 5000

/**
 * The lease, in ms, of a job whose agent begins nothing before the server has its first heartbeat: it is short, so that an
 * answer which was lost on its way to the agent does not hold up the job for longer. That heartbeat makes it whole.
 */
export function firstLease(leaseMs: number) {
  return Math.min(RECEIPT_MS, leaseMs / 2)
}

/** Whether the agent of a running job has not said that it received it: then it has begun nothing. */
export function isUnheard(job: { receipt_due_at: Date | null; lease_expires_at: Date | null }) {
  const { receipt_due_at: dueAt, lease_expires_at: expiresAt } = job
  return dueAt !== null && expiresAt !== null && expiresAt <= dueAt
}
