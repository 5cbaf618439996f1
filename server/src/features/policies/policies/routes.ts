import type { Readable } from 'node:stream'
import { policyIncludes } from '@groundstate/contract/includes'
import { POLICY_BYTES, createPolicyBody, policySchema, updatePolicyBody } from '@groundstate/contract/policies'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text } from '../../../http/query.ts'
import { binary, bytes, created, ok } from '../../../http/responses.ts'
import { listReadablePolicies, requirePolicy, requireSource } from './access.ts'
import { policyResource } from './resource.ts'
import * as service from './service.ts'

const READ = { organization: 'policies:read' } as const
const MANAGE = { organization: 'policies:manage' } as const
const ONE = { responses: { 200: documentOf(policySchema) }, include: policyIncludes }
const CODE = 'text/plain; charset=utf-8'

export const policyRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/policies',
    {
      summary: 'List policies',
      access: READ,
      query: {
        'search[name]': text().describe('part of the name'),
        'filter[kind]': text().describe('`opa`; other kinds have no policies here'),
      },
      include: policyIncludes,
      responses: { 200: pageOf(policySchema) },
    },
    async (req) => {
      const { 'search[name]': search, 'filter[kind]': kind } = req.query
      const query = { page: req.page(), search, kind }
      return req.list(await service.listPolicies(req.ctx, req.params.organization, query), policyResource)
    },
  )
  http.post(
    '/organizations/:organization/policies',
    {
      summary: 'Create a policy',
      access: MANAGE,
      audit: 'policy create',
      body: createPolicyBody,
      responses: { 201: documentOf(policySchema) },
    },
    async (req) =>
      created(policyResource(await service.createPolicy(req.ctx, req.params.organization, req.body.data.attributes))),
  )
  http.get('/policies/:id', { ...ONE, summary: 'Show a policy', access: READ }, async (req) =>
    ok(policyResource(await requirePolicy(req.ctx, req.params.id, 'policies:read'))),
  )
  http.patch(
    '/policies/:id',
    { ...ONE, summary: 'Update a policy', access: MANAGE, audit: 'policy update', body: updatePolicyBody },
    async (req) => ok(policyResource(await service.updatePolicy(req.ctx, req.params.id, req.body.data.attributes))),
  )
  http.delete(
    '/policies/:id',
    { summary: 'Delete a policy', access: MANAGE, audit: 'policy destroy', responses: { 204: null } },
    async (req) => service.deletePolicy(req.ctx, req.params.id),
  )
  http.put(
    '/policies/:id/upload',
    {
      summary: 'Upload the code of a policy',
      access: MANAGE,
      audit: 'policy upload',
      upload: true,
      maxBytes: POLICY_BYTES,
      authorise: async (ctx, { id }) => requirePolicy(ctx, id, 'policies:manage'),
      responses: { 200: null },
    },
    async (req) => {
      await service.uploadPolicy(req.ctx, req.subject, req.raw.body as Readable)
      return { status: 200 }
    },
  )
  http.get(
    '/policies/:id/download',
    { summary: 'Download the code of a policy', access: READ, responses: { 200: binary(CODE) } },
    async (req) => {
      const policy = await requirePolicy(req.ctx, req.params.id, 'policies:read')
      return bytes(Buffer.from(await requireSource(req.ctx, policy.id)), CODE)
    },
  )
}

export const policyLoaders: readonly Loader[] = [
  { type: 'policies', load: async (ctx, ids) => (await listReadablePolicies(ctx, ids)).map(policyResource) },
]
