import { dataRetentionPolicyBody } from '@groundstate/contract/data-retention'
import { created, noContent, ok } from '../../../http/answers.ts'
import type { Http, Routes } from '../../../http/http.ts'
import { dataRetentionPolicyResource } from './resource.ts'
import {
  deleteDataRetentionPolicy,
  type PolicyOwner,
  setDataRetentionPolicy,
  showDataRetentionPolicy,
} from './service.ts'

export const dataRetentionRoutes: Routes = (http) => {
  policyRoutes(http, '/organizations/:id/relationships/data-retention-policy', (id) => ({ organization: id }))
  policyRoutes(http, '/workspaces/:id/relationships/data-retention-policy', (id) => ({ workspaceId: id }))
}

function policyRoutes<Path extends `/${string}/:id/relationships/data-retention-policy`>(
  http: Http,
  path: Path,
  ownerOf: (id: string) => PolicyOwner,
) {
  const route: '/:id' = path as unknown as '/:id' // both paths have the one parameter
  http.get(route, async (req) => {
    return ok(dataRetentionPolicyResource(await showDataRetentionPolicy(req.ctx, ownerOf(req.params.id))))
  })

  // The public API has PATCH for what its clients send as POST, and both create as well as change.
  for (const method of ['post', 'patch'] as const) {
    http[method](route, { body: dataRetentionPolicyBody }, async (req) => {
      const result = await setDataRetentionPolicy(req.ctx, ownerOf(req.params.id), req.body)
      const resource = dataRetentionPolicyResource(result.policy)
      return result.created ? created(resource) : ok(resource)
    })
  }

  http.delete(route, async (req) => {
    await deleteDataRetentionPolicy(req.ctx, ownerOf(req.params.id))
    return noContent()
  })
}
