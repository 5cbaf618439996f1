import { dataRetentionPolicyBody, dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import { documentOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import * as service from './service.ts'

const OWNERS = [
  {
    path: '/organizations/:id/relationships/data-retention-policy',
    noun: 'an organization',
    read: { organization: 'organization:read' },
    write: { organization: 'owner' },
    ownerOf: (id: string) => ({ organization: id }),
  },
  {
    path: '/workspaces/:id/relationships/data-retention-policy',
    noun: 'a workspace',
    read: { workspace: 'workspace:read' },
    write: { workspace: 'workspace:delete' },
    ownerOf: (id: string) => ({ workspaceId: id }),
  },
] as const

const policyDocument = documentOf(dataRetentionPolicySchema)

export const dataRetentionRoutes: Routes = (http) => {
  for (const { path, noun, read, write, ownerOf } of OWNERS) {
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

    http.get(path, show, async (req) =>
      ok(service.dataRetentionPolicyResource(await service.showDataRetentionPolicy(req.ctx, ownerOf(req.params.id)))),
    )
    // The public API documents PATCH but its clients send POST: both create or change a policy.
    for (const method of ['post', 'patch'] as const) {
      http[method](path, set, async (req) => {
        const { policy, isNew } = await service.setDataRetentionPolicy(req.ctx, ownerOf(req.params.id), req.body)
        const resource = service.dataRetentionPolicyResource(policy)
        return isNew ? created(resource) : ok(resource)
      })
    }
    http.delete(path, remove, async (req) => service.deleteDataRetentionPolicy(req.ctx, ownerOf(req.params.id)))
  }
}
