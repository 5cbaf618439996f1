import * as contract from '@groundstate/contract/agent-pools'
import { agentPoolIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { type Query, sortBy, text } from '../../../http/query.ts'
import { created, ok, unstored } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { LIST_TOKENS } from '../../identity/tokens/routes.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { listReadableAgentPools, requireAgentPool, requireTokenPool } from './access.ts'
import { agentPoolResource } from './resource.ts'
import * as service from './service.ts'
import type { PoolFilter } from './store.ts'

const allowedWorkspace = text().describe('pools that the workspace of this name may use')
const allowedProject = text().describe('pools that the project of this name may use')
const LIST_QUERY = {
  q: text().describe('part of the name'),
  'filter[allowed_workspaces][name]': allowedWorkspace,
  'filter[allowed-workspaces][name]': allowedWorkspace,
  'filter[allowed_projects][name]': allowedProject,
  'filter[allowed-projects][name]': allowedProject,
  sort: sortBy(['name', 'created-at'], 'name').describe('`name` by default'),
}

const ONE = { 200: documentOf(contract.agentPoolSchema) }

export const agentPoolRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/agent-pools',
    {
      summary: 'List the agent pools of an organization',
      access: { organization: 'agent-pools:read' },
      responses: { 200: pageOf(contract.agentPoolSchema) },
      query: LIST_QUERY,
      include: agentPoolIncludes,
    },
    async (req) => {
      const input = { page: req.page(), filter: poolFilter(req.query) }
      return req.list(await service.listAgentPools(req.ctx, req.params.organization, input), agentPoolResource)
    },
  )
  http.post(
    '/organizations/:organization/agent-pools',
    {
      summary: 'Create an agent pool',
      access: { organization: 'agent-pools:manage' },
      audit: 'agent_pool create',
      responses: { 201: documentOf(contract.agentPoolSchema) },
      body: contract.createAgentPoolBody,
      authorise: async (ctx, { organization }) => requireOrganization(ctx, organization, 'agent-pools:manage'),
    },
    async (req) => created(agentPoolResource(await service.createAgentPool(req.ctx, req.subject, req.body.data))),
  )
  http.get(
    '/agent-pools/:poolId',
    {
      summary: 'Show an agent pool',
      access: { organization: 'agent-pools:read' },
      responses: ONE,
      include: agentPoolIncludes,
    },
    async (req) => ok(agentPoolResource(await requireAgentPool(req.ctx, req.params.poolId, 'agent-pools:read'))),
  )
  http.patch(
    '/agent-pools/:poolId',
    {
      summary: 'Update an agent pool',
      access: { organization: 'agent-pools:manage' },
      audit: 'agent_pool update',
      responses: ONE,
      body: contract.updateAgentPoolBody,
      authorise: async (ctx, { poolId }) => requireAgentPool(ctx, poolId, 'agent-pools:manage'),
    },
    async (req) => ok(agentPoolResource(await service.updateAgentPool(req.ctx, req.subject, req.body.data))),
  )
  http.delete(
    '/agent-pools/:poolId',
    {
      summary: 'Delete an agent pool',
      access: { organization: 'agent-pools:manage' },
      audit: 'agent_pool destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteAgentPool(req.ctx, req.params.poolId),
  )
}

function poolFilter(query: Query<typeof LIST_QUERY>): PoolFilter {
  return {
    q: query.q,
    allowedWorkspace: query['filter[allowed_workspaces][name]'] ?? query['filter[allowed-workspaces][name]'],
    allowedProject: query['filter[allowed_projects][name]'] ?? query['filter[allowed-projects][name]'],
    sort: query.sort,
  }
}

export const agentTokenRoutes: Routes = (http) => {
  http.get(
    '/agent-pools/:poolId/authentication-tokens',
    {
      ...LIST_TOKENS,
      summary: 'List the tokens of an agent pool',
      access: { organization: 'agent-pools:manage' },
    },
    async (req) => req.list(await service.listAgentTokens(req.ctx, req.params.poolId, req.page()), tokenResource),
  )
  http.post(
    '/agent-pools/:poolId/authentication-tokens',
    {
      summary: 'Create a token for agents of a pool',
      access: { organization: 'agent-pools:manage' },
      audit: 'authentication_token create',
      responses: { 201: documentOf(tokenSchema) },
      body: contract.createAgentTokenBody,
      authorise: async (ctx, { poolId }) => requireTokenPool(ctx, poolId),
    },
    async (req) => {
      const { description } = req.body.data.attributes
      const { token, text } = await service.createAgentToken(req.ctx, req.subject, description)
      return unstored(created(tokenResource(token, text)))
    },
  )
}

export const agentPoolLoaders: readonly Loader[] = [
  { type: 'agent-pools', load: async (ctx, ids) => (await listReadableAgentPools(ctx, ids)).map(agentPoolResource) },
]
