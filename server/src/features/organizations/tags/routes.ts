import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createReservedTagKeyBody, reservedTagKeySchema, updateReservedTagKeyBody } from '@groundstate/contract/tags'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { reservedTagKeyResource } from './resource.ts'
import { createReservedTagKey, deleteReservedTagKey, listReservedTagKeys, updateReservedTagKey } from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/reserved-tag-keys'
const ONE = '/reserved-tag-keys/:id'
const MANAGE = { access: { organization: 'tags:manage' } } as const

export const reservedTagKeyRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      summary: 'List the reserved tag keys of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: pageOf(reservedTagKeySchema) },
    },
    async (req) =>
      req.list(await listReservedTagKeys(req.ctx, req.params.organization, req.page()), reservedTagKeyResource),
  )
  http.post(
    OF_ORGANIZATION,
    {
      ...MANAGE,
      summary: 'Reserve a tag key',
      audit: 'reserved_tag_key create',
      responses: { 201: documentOf(reservedTagKeySchema) },
      body: createReservedTagKeyBody,
    },
    async ({ ctx, params, body }) =>
      created(reservedTagKeyResource(await createReservedTagKey(ctx, params.organization, body.data.attributes))),
  )
  http.patch(
    ONE,
    {
      ...MANAGE,
      summary: 'Update a reserved tag key',
      audit: 'reserved_tag_key update',
      responses: { 200: documentOf(reservedTagKeySchema) },
      body: updateReservedTagKeyBody,
    },
    async ({ ctx, params, body }) =>
      ok(reservedTagKeyResource(await updateReservedTagKey(ctx, params.id, body.data.attributes))),
  )
  http.delete(
    ONE,
    { ...MANAGE, summary: 'Delete a reserved tag key', audit: 'reserved_tag_key destroy', responses: { 204: null } },
    async (req) => deleteReservedTagKey(req.ctx, req.params.id),
  )
}
