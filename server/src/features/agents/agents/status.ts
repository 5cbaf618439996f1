import type { AgentStatus } from '@groundstate/contract/agents'

/** An agent that has not asked for work for this long may be gone, in ms. */
const SILENCE_MS = 60_000
/** An agent that has not asked for work for this long counts as broken, in ms. */
const BROKEN_MS = 2 * 3_600_000

/** Agents whose last sign of life is later than this count as online. */
export function onlineSince(now: Date) {
  return new Date(now.getTime() - SILENCE_MS)
}

export function agentStatus(
  agent: { exited_at: Date | null; last_ping_at: Date; is_busy: boolean },
  now: Date,
): AgentStatus {
  // A busy agent does not ask for work, and says goodbye before its last jobs end. Their leases show that it lives.
  if (agent.is_busy) return 'busy'
  if (agent.exited_at !== null) return 'exited'
  const silence = now.getTime() - agent.last_ping_at.getTime()
  if (silence > BROKEN_MS) return 'errored'
  return silence > SILENCE_MS ? 'unknown' : 'idle'
}
