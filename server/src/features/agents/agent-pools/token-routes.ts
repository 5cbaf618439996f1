import { createAgentTokenBody } from '@groundstate/contract/agent-pools'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { created, listPage, unstored } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { requireTokenPool } from './access.ts'
import { createAgentToken } from './create-token.ts'
import { listAgentTokens } from './list-tokens.ts'

export const agentTokenRoutes: Routes = (http) => {
  http.get(
    '/agent-pools/:poolId/authentication-tokens',
    {
      summary: 'List the tokens of an agent pool',
      access: { organization: 'agent-pools:manage' },
      responses: { 200: pageOf(tokenSchema) },
    },
    async (req) => {
      const page = req.page()
      const { rows, total } = await listAgentTokens(req.ctx, req.params.poolId, page)
      return listPage({ url: req.url, page }, { rows: rows.map((row) => tokenResource(row)), total })
    },
  )
  http.post(
    '/agent-pools/:poolId/authentication-tokens',
    {
      summary: 'Create a token for agents of a pool',
      access: { organization: 'agent-pools:manage' },
      audit: 'authentication_token create',
      responses: { 201: documentOf(tokenSchema) },
      body: createAgentTokenBody,
      authorise: async (ctx, { poolId }) => requireTokenPool(ctx, poolId),
    },
    async (req) => {
      const { description } = req.body.data.attributes
      const { token, text } = await createAgentToken(req.ctx, req.subject, description)
      return unstored(created(tokenResource(token, text)))
    },
  )
}
