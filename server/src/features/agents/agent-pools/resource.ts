import type { AgentPoolResource } from '@groundstate/contract/agent-pools'
import type { AgentPoolRow } from './store.ts'

export function agentPoolResource(pool: AgentPoolRow): AgentPoolResource {
  const { idle = 0, busy = 0, unknown = 0, errored = 0 } = pool.agent_counts
  const self = `/api/v2/agent-pools/${pool.id}`
  const toMany = <const Type extends string>(ids: readonly string[], type: Type) => ({
    data: ids.map((id) => ({ id, type })),
  })
  return {
    id: pool.id,
    type: 'agent-pools',
    attributes: {
      name: pool.name,
      'created-at': pool.created_at,
      'organization-scoped': pool.organization_scoped,
      'agent-count': idle + busy,
      'agent-counts': { idle, busy, unknown, errored },
      'max-concurrent-jobs': pool.max_concurrent_jobs,
    },
    relationships: {
      organization: { data: { id: pool.organization_name, type: 'organizations' } },
      agents: { links: { related: `${self}/agents` } },
      'authentication-tokens': { links: { related: `${self}/authentication-tokens` } },
      workspaces: toMany(pool.workspace_ids, 'workspaces'),
      'allowed-workspaces': toMany(pool.allowed_workspace_ids, 'workspaces'),
      'excluded-workspaces': toMany(pool.excluded_workspace_ids, 'workspaces'),
      'allowed-projects': toMany(pool.allowed_project_ids, 'projects'),
    },
    links: { self },
  }
}
