import type { AgentStatus } from '@groundstate/contract/agents'

/** An agent that has not asked for work for this long may be gone, in ms. */
export const SILENCE_MS = 60_000
/** After this long it is taken for broken, in ms. */
const BROKEN_MS = 2 * 3_600_000

/** What an agent is doing, from what it last said. */
export function agentStatus(
  agent: { exited_at: Date | null; last_ping_at: Date; is_busy: boolean },
  now: Date,
): AgentStatus {
  if (agent.exited_at !== null) return 'exited'
  // The leases of its jobs tell more of a busy agent than when it last asked for work.
  if (agent.is_busy) return 'busy'
  const silence = now.getTime() - agent.last_ping_at.getTime()
  if (silence > BROKEN_MS) return 'errored'
  return silence > SILENCE_MS ? 'unknown' : 'idle'
}
