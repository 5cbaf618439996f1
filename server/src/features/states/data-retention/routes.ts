import { dataRetentionPolicyBody, dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import { documentOf } from '@groundstate/contract/responses'
import type { Http, Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import {
  dataRetentionPolicyResource,
  deleteDataRetentionPolicy,
  setDataRetentionPolicy,
  showDataRetentionPolicy,
} from './service.ts'

const OF_ORGANIZATION = {
  path: '/organizations/:id/relationships/data-retention-policy',
  noun: 'an organization',
  read: { organization: 'organization:read' },
  write: { organization: 'owner' },
  ownerOf: (id: string) => ({ organization: id }),
} as const
const OF_WORKSPACE = {
  path: '/workspaces/:id/relationships/data-retention-policy',
  noun: 'a workspace',
  read: { workspace: 'workspace:read' },
  write: { workspace: 'workspace:delete' },
  ownerOf: (id: string) => ({ workspaceId: id }),
} as const

export const dataRetentionRoutes: Routes = (http) => {
  policyRoutes(http, OF_ORGANIZATION)
  policyRoutes(http, OF_WORKSPACE)
}

const policyDocument = documentOf(dataRetentionPolicySchema)

function policyRoutes(http: Http, { path, noun, read, write, ownerOf }: typeof OF_ORGANIZATION | typeof OF_WORKSPACE) {
  const route: '/:id' = path as unknown as '/:id' // both paths have the one parameter
  const show = {
    summary: `Show the data retention policy of ${noun}`,
    access: read,
    responses: { 200: policyDocument },
  } as const
  const set = {
    summary: `Set the data retention policy of ${noun}`,
    access: write,
    audit: ['data_retention_policy create', 'data_retention_policy update'],
    responses: { 200: policyDocument, 201: policyDocument },
    body: dataRetentionPolicyBody,
  } as const
  const remove = {
    summary: `Delete the data retention policy of ${noun}`,
    access: write,
    audit: 'data_retention_policy destroy',
    responses: { 204: null },
  } as const

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

  http.delete(route, remove, async (req) => deleteDataRetentionPolicy(req.ctx, ownerOf(req.params.id)))
}
