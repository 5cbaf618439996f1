import type { z } from 'zod'
import { AGENT_API, registerAgentBody, type registeredAgent } from '@groundstate/contract/agent'
import type { AgentResource } from '@groundstate/contract/agents'
import type { Ctx } from '../../../app.ts'
import { json, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readSort, readTime } from '../../../http/query.ts'
import { deleteAgent, deregisterAgent, listAgents, registerAgent, showAgent } from './service.ts'
import type { Agent } from './store.ts'
import { agentStatus } from './status.ts'

export const agentRoutes: Routes = (http) => {
  http.get('/agent-pools/:poolId/agents', async (req) => {
    const page = req.page()
    const { rows, total } = await listAgents(req.ctx, req.params.poolId, {
      page,
      since: readTime(req.query, 'filter[last-ping-since]'),
      sort: readSort(req.query, ['created-at', 'name'] as const, 'created-at'),
    })
    return listPage({ url: req.url, page }, { rows: rows.map((agent) => agentResource(req.ctx, agent)), total })
  })
  http.get('/agents/:agentId', async (req) => ok(agentResource(req.ctx, await showAgent(req.ctx, req.params.agentId))))
  http.delete('/agents/:agentId', async (req) => {
    await deleteAgent(req.ctx, req.params.agentId)
    return noContent()
  })

  http.post('/register', { prefix: AGENT_API, body: registerAgentBody }, async (req) => {
    return json((await registerAgent(req.ctx, req.body)) satisfies z.output<typeof registeredAgent>)
  })
  http.post('/agents/:agentId/deregister', { prefix: AGENT_API }, async (req) => {
    await deregisterAgent(req.ctx, req.params.agentId)
    return noContent()
  })
}

function agentResource(ctx: Pick<Ctx, 'now'>, agent: Agent): AgentResource {
  return {
    id: agent.id,
    type: 'agents',
    attributes: {
      name: agent.name,
      status: agentStatus(agent, ctx.now()),
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
