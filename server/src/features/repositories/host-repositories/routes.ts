import * as contract from '@groundstate/contract/oauth-clients'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import { invalidParameter } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { type Query, requiredText, text } from '../../../http/query.ts'
import { listAll, ok } from '../../../http/responses.ts'
import type { HostRepository } from '../../../vcs-hosts/host.ts'
import { requireChooser } from './chooser.ts'
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
  oauth_token_id: text().describe('id of the token of a connection'),
  githubAppInstallationId: text().describe('id of an installation of the GitHub App, in place of a token'),
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
      const chooser = await requireChooser(ctx, { connection: { tokenId: id }, workspaceId: query.workspace })
      const { rows, nextPage } = await service.listHostRepositories(ctx, chooser, {
        query: query.q ?? query['search[name]'] ?? '',
        owner: query.organization,
        page: page(),
      })
      const data = rows.map((row) => ({
        id: row.identifier,
        type: 'authorized-repos',
        attributes: { name: nameOf(row), 'display-identifier': row.displayIdentifier },
        relationships: { 'oauth-token': { data: { id, type: 'oauth-tokens' } } },
      }))
      return { status: 200, document: { data, meta: { 'next-page': nextPage } } }
    },
  )
  const ofInstallation = '/github-app-installations/:installationId/repos'
  for (const path of [ofInstallation, `/organizations/:organization${ofInstallation}`] as const) {
    http.get(
      path,
      {
        ...CHOOSE,
        summary: 'List the repositories that an installation of the GitHub App may read',
        responses: { 200: contract.githubAppReposSchema },
        query: { q: text().describe(SEARCH), workspace: WORKSPACE },
      },
      async ({ ctx, params, query: { q, workspace }, page }) => {
        const { installationId } = params
        const chooser = await requireChooser(ctx, {
          connection: { installationId },
          workspaceId: workspace,
          ...('organization' in params && { organizationName: params.organization }),
        })
        const list = await service.listHostRepositories(ctx, chooser, { query: q ?? '', page: page() })
        const data = list.rows.map((row) => ({
          id: row.identifier,
          type: 'github-app-repos',
          attributes: {
            name: nameOf(row),
            identifier: row.identifier,
            'installation-id': installationId,
            private: null,
          },
        }))
        return { status: 200, document: { data, meta: { 'next-page': list.nextPage } } }
      },
    )
  }
  http.get(
    '/oauth-tokens/:id/vcs-organizations',
    {
      ...CHOOSE,
      summary: 'List the owners of repositories that a token may read',
      responses: { 200: wholeListOf(contract.vcsOrganizationSchema) },
      query: { workspace: WORKSPACE },
    },
    async ({ ctx, params: { id }, query }) => {
      const chooser = await requireChooser(ctx, { connection: { tokenId: id }, workspaceId: query.workspace })
      const names = await service.listHostOwners(ctx, chooser)
      return listAll(names.map((name) => ({ id: name, type: 'vcs-organization', attributes: { name } })))
    },
  )
  http.get(
    '/organizations/:organization/vcs/repo',
    {
      ...CHOOSE,
      summary: 'Check whether a repository exists and the connection may read it',
      responses: { 200: documentOf(contract.vcsRepoCheckSchema) },
      query: REPOSITORY,
    },
    async ({ ctx, params, query }) => {
      const { identifier } = query
      const exists = await service.hasHostRepository(ctx, await chooserOf(ctx, params, query), identifier)
      return ok({ id: identifier, type: 'vcs-repo-check', attributes: { exists, identifier } })
    },
  )
  http.get(
    '/organizations/:organization/vcs/tree',
    {
      ...CHOOSE,
      summary: 'List the directories of a repository',
      responses: { 200: wholeListOf(contract.vcsTreeSchema) },
      query: { ...REPOSITORY, branch: text().describe('by default, the default branch of the repository') },
    },
    async ({ ctx, params, query }) => {
      const { identifier, branch = null } = query
      const paths = await service.listDirectories(ctx, await chooserOf(ctx, params, query), { identifier, branch })
      return listAll(paths.map((path) => ({ id: path, type: 'vcs-tree', attributes: { path } })))
    },
  )
}

const nameOf = ({ identifier }: HostRepository) => identifier.replace(/^.*\//, '')

type RepositoryQuery = Query<typeof REPOSITORY>

async function chooserOf(
  ctx: Ctx,
  { organization }: { organization: string },
  { oauth_token_id: tokenId, githubAppInstallationId: installationId, workspace }: RepositoryQuery,
) {
  if (tokenId === undefined && installationId === undefined)
    throw invalidParameter('oauth_token_id is missing, and so is githubAppInstallationId', 'oauth_token_id')
  const connection = installationId === undefined ? { tokenId: tokenId ?? '' } : { installationId }
  return requireChooser(ctx, { connection, workspaceId: workspace, organizationName: organization })
}
