import { createOpaVersionBody, opaVersionSchema, updateOpaVersionBody } from '@groundstate/contract/opa-versions'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { opaVersionResource } from './resource.ts'
import * as service from './service.ts'

const ADMIN = { access: 'site-admin' } as const
const ONE = { ...ADMIN, responses: { 200: documentOf(opaVersionSchema) } } as const
const PATH = '/admin/opa-versions'

export const opaVersionRoutes: Routes = (http) => {
  http.get(
    PATH,
    {
      ...ADMIN,
      summary: 'List the versions of OPA',
      query: {
        'filter[version]': text().describe('the exact version'),
        'search[version]': text().describe('part of the version'),
      },
      responses: { 200: pageOf(opaVersionSchema) },
    },
    async (req) => {
      const { 'filter[version]': version, 'search[version]': search } = req.query
      return req.list(await service.listOpaVersions(req.ctx, { page: req.page(), version, search }), opaVersionResource)
    },
  )
  http.post(
    PATH,
    {
      ...ADMIN,
      summary: 'Create a version of OPA',
      audit: 'opa_version create',
      body: createOpaVersionBody,
      responses: { 201: documentOf(opaVersionSchema) },
    },
    async (req) => created(opaVersionResource(await service.createOpaVersion(req.ctx, req.body.data.attributes))),
  )
  http.get(`${PATH}/:id`, { ...ONE, summary: 'Show a version of OPA' }, async (req) =>
    ok(opaVersionResource(await service.readOpaVersion(req.ctx, req.params.id))),
  )
  http.patch(
    `${PATH}/:id`,
    { ...ONE, summary: 'Update a version of OPA', audit: 'opa_version update', body: updateOpaVersionBody },
    async (req) =>
      ok(opaVersionResource(await service.updateOpaVersion(req.ctx, req.params.id, req.body.data.attributes))),
  )
  http.delete(
    `${PATH}/:id`,
    { ...ADMIN, summary: 'Delete a version of OPA', audit: 'opa_version destroy', responses: { 204: null } },
    async (req) => service.deleteOpaVersion(req.ctx, req.params.id),
  )
}
