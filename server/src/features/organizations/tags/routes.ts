import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createReservedTagKeyBody, reservedTagKeySchema, updateReservedTagKeyBody } from '@groundstate/contract/tags'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { reservedTagKeyResource } from './resource.ts'
import { createReservedTagKey, deleteReservedTagKey, listReservedTagKeys, updateReservedTagKey } from './service.ts'

export const reservedTagKeyRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/reserved-tag-keys',
    {
      summary: 'List the reserved tag keys of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: pageOf(reservedTagKeySchema) },
    },
    async (req) => {
      return req.list(await listReservedTagKeys(req.ctx, req.params.organization, req.page()), reservedTagKeyResource)
    },
  )
  http.post(
    '/organizations/:organization/reserved-tag-keys',
    {
      summary: 'Reserve a tag key',
      access: { organization: 'tags:manage' },
      audit: 'reserved_tag_key create',
      responses: { 201: documentOf(reservedTagKeySchema) },
      body: createReservedTagKeyBody,
    },
    async (req) => {
      const key = await createReservedTagKey(req.ctx, req.params.organization, req.body.data.attributes)
      return created(reservedTagKeyResource(key))
    },
  )
  http.patch(
    '/reserved-tag-keys/:id',
    {
      summary: 'Update a reserved tag key',
      access: { organization: 'tags:manage' },
      audit: 'reserved_tag_key update',
      responses: { 200: documentOf(reservedTagKeySchema) },
      body: updateReservedTagKeyBody,
    },
    async (req) => {
      return ok(reservedTagKeyResource(await updateReservedTagKey(req.ctx, req.params.id, req.body.data.attributes)))
    },
  )
  http.delete(
    '/reserved-tag-keys/:id',
    {
      summary: 'Delete a reserved tag key',
      access: { organization: 'tags:manage' },
      audit: 'reserved_tag_key destroy',
      responses: { 204: null },
    },
    async (req) => deleteReservedTagKey(req.ctx, req.params.id),
  )
}
