/** The time of an agent's last claim is stored at most this often, in ms. */
export const NOTE_MS = 10_000
/** An agent that has not asked for this long may be gone, in ms: a claim waits up to a minute. */
const SILENCE_MS = 60_000 + NOTE_MS

/** Agents that have asked for requests after this count as online. */
export function claimedSince(now: Date) {
  return new Date(now.getTime() - SILENCE_MS)
}
