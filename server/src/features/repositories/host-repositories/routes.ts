import * as contract from '@groundstate/contract/oauth-clients'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { requiredText, text } from '../../../http/query.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { requireChoosing, requireChoosingIn } from './access.ts'
import * as service from './service.ts'

const CHOOSE = {
  access: [
    { organization: 'vcs-settings:manage' },
    { organization: 'workspaces:create' },
    { project: 'workspaces:create' },
    { workspace: 'workspace:update' },
  ],
} as const
const WORKSPACE = text().describe(
  'our own: id of the workspace whose repository is chosen, for those who may only update it',
)
const SEARCH = 'our own: part of the name'
const REPOSITORY = {
  oauth_token_id: requiredText(),
  identifier: requiredText().describe('identifier of the repository, such as `acme/network`'),
  workspace: WORKSPACE,
}

export const hostRepositoryRoutes: Routes = (http) => {
  http.get(
    '/oauth-tokens/:id/authorized-repos',
    {
      ...CHOOSE,
      summary: 'List the repositories that a token may read',
      responses: { 200: contract.authorizedReposSchema },
      query: {
        organization: text().describe('owner of the repositories on the host'),
        q: text().describe(SEARCH),
        'search[name]': text().describe(SEARCH),
        workspace: WORKSPACE,
      },
    },
    async ({ ctx, params: { id }, query, page }) => {
      await requireChoosing(ctx, { tokenId: id, workspaceId: query.workspace })
      const { rows, nextPage } = await service.listHostRepositories(ctx, id, {
        query: query.q ?? query['search[name]'] ?? '',
        owner: query.organization,
        page: page(),
      })
      const data = rows.map((row) => ({
        id: row.identifier,
        type: 'authorized-repos',
        attributes: { name: row.identifier.replace(/^.*\//, ''), 'display-identifier': row.displayIdentifier },
        relationships: { 'oauth-token': { data: { id, type: 'oauth-tokens' } } },
      }))
      return { status: 200, document: { data, meta: { 'next-page': nextPage } } }
    },
  )
  http.get(
    '/oauth-tokens/:id/vcs-organizations',
    {
      ...CHOOSE,
      summary: 'List the owners of repositories that a token may read',
      responses: { 200: wholeListOf(contract.vcsOrganizationSchema) },
      query: { workspace: WORKSPACE },
    },
    async ({ ctx, params: { id }, query }) => {
      await requireChoosing(ctx, { tokenId: id, workspaceId: query.workspace })
      const names = await service.listHostOwners(ctx, id)
      return listAll(names.map((name) => ({ id: name, type: 'vcs-organization', attributes: { name } })))
    },
  )
  http.get(
    '/organizations/:organization/vcs/repo',
    {
      ...CHOOSE,
      summary: 'Check whether a repository exists and the token may read it',
      responses: { 200: documentOf(contract.vcsRepoCheckSchema) },
      query: REPOSITORY,
    },
    async ({ ctx, params, query: { oauth_token_id: tokenId, identifier, workspace } }) => {
      await requireChoosingIn(ctx, params.organization, { tokenId, workspaceId: workspace })
      const exists = await service.hasHostRepository(ctx, tokenId, identifier)
      return ok({ id: identifier, type: 'vcs-repo-check', attributes: { exists, identifier } })
    },
  )
}
