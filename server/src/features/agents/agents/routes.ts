import { AGENT_API, registerAgentBody, registeredAgent } from '@groundstate/contract/agent'
import { AGENT_STATUSES, agentSchema } from '@groundstate/contract/agents'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { listOf, sortBy, text, time } from '../../../http/query.ts'
import { json, ok } from '../../../http/responses.ts'
import { requireAgent, requireAgentActor } from './access.ts'
import { agentResource } from './resource.ts'
import { deleteAgent, deregisterAgent, listAgents, listCurrentJobs, registerAgent } from './service.ts'

const REPORTED = { none: 'reports of agents are recorded in the events of the run' }

export const agentRoutes: Routes = (http) => {
  http.get(
    '/agent-pools/:poolId/agents',
    {
      summary: 'List the agents of a pool',
      access: { organization: 'agent-pools:read' },
      responses: { 200: pageOf(agentSchema) },
      query: {
        q: text().describe('our own: part of the name'),
        'filter[status]': listOf(AGENT_STATUSES).describe('our own: statuses'),
        'filter[last-ping-since]': time().describe('agents with a heartbeat at or after this time'),
        sort: sortBy(['created-at', 'name'], 'created-at').describe('`created-at` by default'),
      },
    },
    async (req) => {
      const { q, sort, 'filter[last-ping-since]': since, 'filter[status]': statuses } = req.query
      const paged = await listAgents(req.ctx, req.params.poolId, { page: req.page(), q, since, statuses, sort })
      const ids = paged.rows.map(({ id }) => id)
      const jobs = await listCurrentJobs(req.ctx, ids)
      return req.list(paged, (agent) => agentResource(agent, jobs.get(agent.id)))
    },
  )
  http.get(
    '/agents/:agentId',
    {
      summary: 'Show an agent',
      access: { organization: 'agent-pools:read' },
      responses: { 200: documentOf(agentSchema) },
    },
    async (req) => {
      const { agent } = await requireAgent(req.ctx, req.params.agentId, 'agent-pools:read')
      const jobs = await listCurrentJobs(req.ctx, [agent.id])
      return ok(agentResource(agent, jobs.get(agent.id)))
    },
  )
  http.delete(
    '/agents/:agentId',
    {
      summary: 'Delete an agent',
      access: { organization: 'agent-pools:manage' },
      audit: 'agent destroy',
      responses: { 204: null },
    },
    async (req) => deleteAgent(req.ctx, req.params.agentId),
  )

  http.post(
    '/register',
    {
      prefix: AGENT_API,
      summary: 'Register an agent',
      access: 'agent',
      audit: REPORTED,
      responses: { 200: registeredAgent },
      body: registerAgentBody,
      authorise: async (ctx) => requireAgentActor(ctx),
    },
    async (req) => json(await registerAgent(req.ctx, req.subject, req.body)),
  )
  http.post(
    '/agents/:agentId/deregister',
    { prefix: AGENT_API, summary: 'Deregister an agent', access: 'agent', audit: REPORTED, responses: { 204: null } },
    async (req) => deregisterAgent(req.ctx, req.params.agentId),
  )
}
