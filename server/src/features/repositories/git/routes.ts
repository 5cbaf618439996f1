import { connectionTestSchema } from '@groundstate/contract/oauth-clients'
import { documentOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { testConnection } from '../connections/service.ts'
import { testWithRepository } from './test-repository.ts'

export const connectionRoutes: Routes = (http) => {
  http.post(
    '/oauth-clients/:id/actions/test',
    {
      summary: 'Test a connection: ask the host for the user of its token, or git about a repository',
      access: { organization: 'vcs-settings:manage' },
      audit: { none: 'a test changes no settings' },
      responses: { 200: documentOf(connectionTestSchema) },
    },
    async ({ ctx, params: { id } }) =>
      ok({
        id,
        type: 'connection-tests',
        attributes: await testConnection(ctx, id, async (tokenId) => testWithRepository(ctx, tokenId)),
        relationships: { 'oauth-client': { data: { id, type: 'oauth-clients' } } },
      }),
  )
}
