/** A lease expires when no heartbeat has arrived for this long, in ms. */
export const LEASE_MS = 30_000
