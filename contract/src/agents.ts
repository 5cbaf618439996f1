import { z } from 'zod'
import { WORK_KINDS } from './agent.ts'
import { type Written, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

export const AGENT_STATUSES = ['idle', 'busy', 'unknown', 'errored', 'exited'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

export const agentSchema = linkedResource('agents', {
  attributes: {
    name: z.string(),
    status: z
      .enum(AGENT_STATUSES)
      .describe(
        '`busy` while it holds the lease of a job, including while draining; `unknown` after a minute without a heartbeat, `errored` after two hours; `exited` once it has deregistered',
      ),
    'ip-address': nullable.string,
    'last-ping-at': timestamp,
    'created-at': timestamp,
    version: z.string().describe("the agent's own, not the engine's"),
    os: z.string(),
    arch: z.string(),
    engines: z
      .array(z.object({ product: z.string(), version: z.string() }))
      .describe('the installed engines; it may be able to download others'),
    accepts: z
      .array(z.enum(WORK_KINDS))
      .describe('the kinds of work it accepts: plans, applies, requests of run tasks, requests for repositories'),
    concurrency: z.int().describe('maximum number of concurrent jobs'),
    'current-jobs': z
      .array(
        z.object({
          kind: z.enum(WORK_KINDS),
          'run-id': nullable.string.describe('null for callers who may not read the run'),
          'started-at': timestamp,
        }),
      )
      .describe('the jobs it is running'),
  },
  relationships: { 'agent-pool': hasOne('agent-pools') },
})
export type AgentResource = Written<typeof agentSchema>
