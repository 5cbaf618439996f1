import { documentOf } from '@groundstate/contract/answers'
import { dataRetentionPolicyBody, dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import { created, noContent, ok } from '../../../http/answers.ts'
import type { Http, Routes } from '../../../http/http.ts'
import type { PolicyOwner } from './access.ts'
import { dataRetentionPolicyResource } from './resource.ts'
import { deleteDataRetentionPolicy, setDataRetentionPolicy } from './set.ts'
import { showDataRetentionPolicy } from './show.ts'

export const dataRetentionRoutes: Routes = (http) => {
  policyRoutes(http, '/organizations/:id/relationships/data-retention-policy', 'an organization', (id) => ({
    organization: id,
  }))
  policyRoutes(http, '/workspaces/:id/relationships/data-retention-policy', 'a workspace', (id) => ({
    workspaceId: id,
  }))
}

const policyDocument = documentOf(dataRetentionPolicySchema)

function policyRoutes<Path extends `/${string}/:id/relationships/data-retention-policy`>(
  http: Http,
  path: Path,
  noun: 'an organization' | 'a workspace',
  ownerOf: (id: string) => PolicyOwner,
) {
  const route: '/:id' = path as unknown as '/:id' // both paths have the one parameter
  const show = { summary: `Show the data retention policy of ${noun}`, answers: { 200: policyDocument } }
  const set = {
    summary: `Set the data retention policy of ${noun}`,
    answers: { 200: policyDocument, 201: policyDocument },
    body: dataRetentionPolicyBody,
  }
  const remove = { summary: `Delete the data retention policy of ${noun}`, answers: { 204: null } }

  http.get(route, show, async (req) => {
    return ok(dataRetentionPolicyResource(await showDataRetentionPolicy(req.ctx, ownerOf(req.params.id))))
  })

  // The public API documents PATCH, and its clients send POST: both create a policy or change it.
  for (const method of ['post', 'patch'] as const) {
    http[method](route, set, async (req) => {
      const result = await setDataRetentionPolicy(req.ctx, ownerOf(req.params.id), req.body)
      const resource = dataRetentionPolicyResource(result.policy)
      return result.created ? created(resource) : ok(resource)
    })
  }

  http.delete(route, remove, async (req) => {
    await deleteDataRetentionPolicy(req.ctx, ownerOf(req.params.id))
    return noContent()
  })
}
