const FIRST_MS = 1000
const LONGEST_MS = 60_000

/**
 * The pause after the `attempt`-th attempt (from 1), in ms: at most a second, doubling up to a minute. Half of it is
 * random, so that the requests to a receiver that was down do not all return at once. `random` is in [0, 1).
 */
export function backoff(attempt: number, random: number) {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 16))
  return Math.round(longest * (0.5 + random / 2))
}
