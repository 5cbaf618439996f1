import { registryUsagesResponse } from '@groundstate/contract/registry-modules'
import type { Routes } from '../../../http/http.ts'
import { listUsages } from '../registry-modules/resource.ts'
import { requireProviderById } from '../registry-providers/access.ts'
import { listProviderUses } from './store.ts'

export const registryUsageRoutes: Routes = (http) => {
  http.get(
    '/registry-providers/:id/workspaces',
    {
      summary: 'List the workspaces that use a provider',
      access: { organization: 'registry:read' },
      responses: { 200: registryUsagesResponse },
    },
    async ({ ctx, params }) => {
      const provider = await requireProviderById(ctx, params.id)
      return listUsages(await listProviderUses(ctx.db, ctx.actor, `${provider.namespace}/${provider.name}`))
    },
  )
}
