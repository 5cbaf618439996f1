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
 * A lease begins short, in ms, and the first heartbeat makes it whole: an answer that was lost on its way to the agent does not
 * hold up a job for longer, and no agent has begun it.
 */
export function firstLease(leaseMs: number) {
  return Math.min(RECEIPT_MS, leaseMs / 2)
}

/** Whether no heartbeat has ever renewed the lease of a running job. */
export function isUnheard(job: { leased_at: Date | null; lease_expires_at: Date | null; lease_ms: number }) {
  const { leased_at: from, lease_expires_at: until, lease_ms: leaseMs } = job
  return from !== null && until !== null && until.getTime() - from.getTime() <= firstLease(leaseMs)
}
