import { z } from 'zod'
import { hasOne, resource, timestamp, type Written } from './answers.ts'

export const AGENT_STATUSES = ['idle', 'busy', 'unknown', 'errored', 'exited'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

export const agentSchema = resource(
  'agents',
  {
    attributes: {
      name: z.string(),
      status: z
        .enum(AGENT_STATUSES)
        .describe('`unknown` after a minute without a sign of life, `errored` after two hours'),
      'ip-address': z.string().nullable(),
      'last-ping-at': timestamp,
      'created-at': timestamp,
      version: z.string().describe("the agent's own, not the engine's"),
      os: z.string(),
      arch: z.string(),
    },
    relationships: { 'agent-pool': hasOne('agent-pools') },
    links: { self: z.string() },
  },
  'Agent',
)
export type AgentResource = Written<typeof agentSchema>
