import type { AgentResource } from '@groundstate/contract/agents'
import { agentStatus } from './status.ts'
import type { AgentRow } from './store.ts'

export function agentResource(agent: AgentRow, now: Date): AgentResource {
  return {
    id: agent.id,
    type: 'agents',
    attributes: {
      name: agent.name,
      status: agentStatus(agent, now),
      'ip-address': agent.ip_address,
      'last-ping-at': agent.last_ping_at,
      'created-at': agent.created_at,
      version: agent.version,
      os: agent.os,
      arch: agent.arch,
    },
    relationships: { 'agent-pool': { data: { id: agent.agent_pool_id, type: 'agent-pools' } } },
    links: { self: `/api/v2/agents/${agent.id}` },
  }
}
