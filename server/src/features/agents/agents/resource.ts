import type { AgentResource } from '@groundstate/contract/agents'
import type { AgentRow } from './store.ts'

type Job = { kind: AgentResource['attributes']['accepts'][number]; run_id: string | null; leased_at: Date }

export function agentResource(agent: AgentRow, jobs: readonly Job[] = []): AgentResource {
  return {
    id: agent.id,
    type: 'agents',
    attributes: {
      name: agent.name,
      status: agent.status,
      'ip-address': agent.ip_address,
      'last-ping-at': agent.last_ping_at,
      'created-at': agent.created_at,
      version: agent.version,
      os: agent.os,
      arch: agent.arch,
      engines: agent.engines as AgentResource['attributes']['engines'],
      accepts: agent.accepts as AgentResource['attributes']['accepts'],
      concurrency: agent.concurrency,
      'current-jobs': jobs.map(({ kind, run_id, leased_at }) => ({ kind, 'run-id': run_id, 'started-at': leased_at })),
    },
    relationships: { 'agent-pool': { data: { id: agent.agent_pool_id, type: 'agent-pools' } } },
    links: { self: `/api/v2/agents/${agent.id}` },
  }
}
