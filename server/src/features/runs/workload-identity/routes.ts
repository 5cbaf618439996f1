import { documentOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/workspace-identity'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { identityTokenPreviewResource, workloadIdentityResource } from './resource.ts'
import { previewIdentityToken, readWorkloadIdentity } from './service.ts'

const ACCESS = { access: { workspace: 'variables:read' } } as const

export const workloadIdentityRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:workspaceId/workload-identity',
    {
      ...ACCESS,
      summary: 'Show the identity that runs of a workspace have',
      responses: { 200: documentOf(contract.workloadIdentitySchema) },
    },
    async ({ ctx, params }) => ok(workloadIdentityResource(await readWorkloadIdentity(ctx, params.workspaceId))),
  )
  http.post(
    '/workspaces/:workspaceId/actions/preview-identity-token',
    {
      ...ACCESS,
      summary: 'Show the claims of an identity token',
      audit: { none: 'it shows claims without a signature and changes nothing' },
      body: contract.previewIdentityTokenBody,
      responses: { 200: documentOf(contract.identityTokenPreviewSchema) },
    },
    async ({ ctx, params, body }) => {
      const preview = await previewIdentityToken(ctx, params.workspaceId, body.data.attributes)
      return ok(identityTokenPreviewResource(preview))
    },
  )
}
