import type { Readable } from 'node:stream'
import { policySetVersionIncludes } from '@groundstate/contract/includes'
import { policySetVersionSchema } from '@groundstate/contract/policy-sets'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import { MAX_ARCHIVE_BYTES } from '../../../blobs/archive.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { created, ok } from '../../../http/responses.ts'
import { type PolicySetVersion, listReadableVersions, requirePolicySetVersion } from './access.ts'
import { uploadPolicySetVersion } from './publish.ts'
import { policySetVersionResource } from './resource.ts'
import { createPolicySetVersion, listPolicySetVersions } from './service.ts'
import { uploadUrl } from './urls.ts'

export const policySetVersionRoutes: Routes = (http) => {
  http.post(
    '/policy-sets/:id/versions',
    {
      summary: 'Create a version of a policy set',
      access: { organization: 'policies:manage' },
      audit: 'policy_set_version create',
      responses: { 201: documentOf(policySetVersionSchema) },
    },
    async (req) => {
      const version = await createPolicySetVersion(req.ctx, req.params.id)
      return created(policySetVersionResource(version, uploadUrl(req.ctx, version)))
    },
  )
  http.get(
    '/policy-sets/:id/versions',
    {
      summary: 'List the versions of a policy set, the newest first',
      access: { organization: 'policies:read' },
      include: policySetVersionIncludes,
      responses: { 200: pageOf(policySetVersionSchema) },
    },
    async (req) =>
      req.list(await listPolicySetVersions(req.ctx, req.params.id, req.page()), (version) =>
        policySetVersionResource(version, awaitedUpload(req.ctx, version)),
      ),
  )
  http.get(
    '/policy-set-versions/:id',
    {
      summary: 'Show a version of a policy set',
      access: { organization: 'policies:read' },
      include: policySetVersionIncludes,
      responses: { 200: documentOf(policySetVersionSchema) },
    },
    async (req) => {
      const version = await requirePolicySetVersion(req.ctx, req.params.id)
      return ok(policySetVersionResource(version, awaitedUpload(req.ctx, version)))
    },
  )
  http.put(
    '/_objects/policy-sets/:token',
    {
      summary: 'Upload a version of a policy set',
      access: 'signed',
      audit: 'policy_set_version upload',
      prefix: '',
      upload: true,
      maxBytes: MAX_ARCHIVE_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      await uploadPolicySetVersion(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
}

/** The upload URL, while the archive is awaited and the actor may send it. */
function awaitedUpload(ctx: Ctx, version: PolicySetVersion) {
  return version.status === 'pending' && version.canUpload ? uploadUrl(ctx, version) : undefined
}

export const policySetVersionLoaders: readonly Loader[] = [
  {
    type: 'policy-set-versions',
    load: async (ctx, ids) =>
      (await listReadableVersions(ctx, ids)).map((row) => policySetVersionResource(row, awaitedUpload(ctx, row))),
  },
]
