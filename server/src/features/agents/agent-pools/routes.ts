import { createAgentPoolBody, createAgentTokenBody, updateAgentPoolBody } from '@groundstate/contract/agent-pools'
import type { Ctx } from '../../../app.ts'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readSort, readText } from '../../../http/query.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/service.ts'
import { agentPoolResource } from './resource.ts'
import {
  type AgentPool,
  createAgentPool,
  deleteAgentPool,
  listAgentPools,
  requireAgentPool,
  updateAgentPool,
} from './service.ts'
import { workspaceResource } from '../../workspaces/workspaces/resource.ts'
import { createAgentToken, listAgentTokens } from './tokens.ts'

// Keys that an agent of the pool holds are among what clients may ask for; there are none here.
const INCLUDES = ['workspaces', 'hyok_configurations'] as const

export const agentPoolRoutes: Routes = (http) => {
  http.get('/organizations/:organization/agent-pools', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { query } = req
    const { rows, total } = await listAgentPools(req.ctx, req.params.organization, {
      page,
      filter: {
        q: readText(query, 'q'),
        allowedWorkspace:
          readText(query, 'filter[allowed_workspaces][name]') ?? readText(query, 'filter[allowed-workspaces][name]'),
        allowedProject:
          readText(query, 'filter[allowed_projects][name]') ?? readText(query, 'filter[allowed-projects][name]'),
        sort: readSort(query, ['name', 'created-at'] as const, 'name'),
      },
    })
    const list = { rows: rows.map(agentPoolResource), total }
    return listPage({ url: req.url, page }, list, await included(req.ctx, rows, req.includes))
  })
  http.post('/organizations/:organization/agent-pools', { body: createAgentPoolBody }, async (req) => {
    return created(agentPoolResource(await createAgentPool(req.ctx, req.params.organization, req.body.data)))
  })
  http.get('/agent-pools/:poolId', { include: INCLUDES }, async (req) => {
    const pool = await requireAgentPool(req.ctx, req.params.poolId, 'agent-pools:read')
    return ok(agentPoolResource(pool), await included(req.ctx, [pool], req.includes))
  })
  http.patch('/agent-pools/:poolId', { body: updateAgentPoolBody }, async (req) => {
    return ok(agentPoolResource(await updateAgentPool(req.ctx, req.params.poolId, req.body.data)))
  })
  http.delete('/agent-pools/:poolId', async (req) => {
    await deleteAgentPool(req.ctx, req.params.poolId)
    return noContent()
  })

  http.get('/agent-pools/:poolId/authentication-tokens', async (req) => {
    const page = req.page()
    const { rows, total } = await listAgentTokens(req.ctx, req.params.poolId, page)
    return listPage({ url: req.url, page }, { rows: rows.map((row) => tokenResource(row)), total })
  })
  http.post('/agent-pools/:poolId/authentication-tokens', { body: createAgentTokenBody }, async (req) => {
    const { description } = req.body.data.attributes
    const { token, text } = await createAgentToken(req.ctx, req.params.poolId, description)
    return created(tokenResource(token, text))
  })
}

async function included(ctx: Ctx, pools: readonly AgentPool[], includes: ReadonlySet<string>) {
  if (!includes.has('workspaces')) return undefined
  const ids = [...new Set(pools.flatMap((pool) => pool.workspace_ids))]
  return (await listReadableWorkspaces(ctx, ids)).map((workspace) => workspaceResource(workspace))
}
