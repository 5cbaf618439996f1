import { oauthClientIncludes } from '@groundstate/contract/includes'
import * as contract from '@groundstate/contract/oauth-clients'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import {
  type OAuthClient,
  listReadableClients,
  listReadableTokens,
  requireOAuthClient,
  requireOAuthToken,
} from './access.ts'
import { oauthClientResource, oauthTokenResource } from './resource.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/oauth-clients'
const READ = { access: { organization: 'vcs-settings:read' } } as const
const MANAGE = { access: { organization: 'vcs-settings:manage' } } as const
const CLIENT = { 200: documentOf(contract.oauthClientSchema) }
const TOKEN = { 200: documentOf(contract.oauthTokenSchema) }
const AFFECTED = {
  show_affected_workspaces: boolean().describe(
    'adds names of up to 25 workspaces that use the connection, and their number',
  ),
}

export const oauthClientRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      ...READ,
      summary: 'List the connections of an organization to hosts of repositories',
      responses: { 200: pageOf(contract.oauthClientSchema) },
      query: AFFECTED,
      include: oauthClientIncludes,
    },
    async (req) => {
      const { rows, total } = await service.listOAuthClients(req.ctx, req.params.organization, req.page())
      return req.list({ rows: await shown(req.ctx, rows, req.query.show_affected_workspaces), total }, (row) => row)
    },
  )
  http.post(
    OF_ORGANIZATION,
    {
      ...MANAGE,
      summary: 'Connect an organization to a host of repositories',
      audit: 'oauth_client create',
      responses: { 201: documentOf(contract.oauthClientSchema) },
      body: contract.createOAuthClientBody,
      authorise: async (ctx, { organization }) => requireOrganization(ctx, organization, 'vcs-settings:manage'),
    },
    async (req) => {
      const client = await service.createOAuthClient(req.ctx, req.subject, req.body.data)
      return created(oauthClientResource(client, req.ctx))
    },
  )
  http.get(
    '/oauth-clients/:id',
    { ...READ, summary: 'Show a connection', responses: CLIENT, query: AFFECTED, include: oauthClientIncludes },
    async (req) => {
      const client = await requireOAuthClient(req.ctx, req.params.id, 'vcs-settings:read')
      const [resource] = await shown(req.ctx, [client], req.query.show_affected_workspaces)
      return ok(resource ?? oauthClientResource(client, req.ctx))
    },
  )
  http.patch(
    '/oauth-clients/:id',
    {
      ...MANAGE,
      summary: 'Update a connection',
      audit: 'oauth_client update',
      responses: CLIENT,
      body: contract.updateOAuthClientBody,
      authorise: async (ctx, { id }) => requireOAuthClient(ctx, id, 'vcs-settings:manage'),
    },
    async (req) => {
      const client = await service.updateOAuthClient(req.ctx, req.subject, req.body.data)
      return ok(oauthClientResource(client, req.ctx))
    },
  )
  http.delete(
    '/oauth-clients/:id',
    { ...MANAGE, summary: 'Delete a connection', audit: 'oauth_client destroy', responses: { 204: null } },
    async (req) => service.deleteOAuthClient(req.ctx, req.params.id),
  )
  for (const { method, change, summary } of PROJECT_CHANGES) {
    http[method](
      '/oauth-clients/:id/relationships/projects',
      {
        ...MANAGE,
        summary,
        audit: `oauth_client ${change}_projects`,
        responses: { 204: null },
        body: contract.oauthClientProjectsBody,
      },
      async (req) => service.changeClientProjects(req.ctx, req.params.id, { change, projects: req.body.data }),
    )
  }
}

const PROJECT_CHANGES = [
  { method: 'post', change: 'add', summary: 'Let workspaces of projects use a connection' },
  { method: 'delete', change: 'remove', summary: 'Remove projects from a connection' },
] as const

async function shown(ctx: Ctx, clients: readonly OAuthClient[], withAffected: boolean | undefined) {
  const affected = withAffected === true ? await service.readAffectedWorkspaces(ctx, clients) : undefined
  return clients.map((client) =>
    oauthClientResource(client, { baseUrl: ctx.baseUrl, affected: affected?.get(client.id) }),
  )
}

export const oauthTokenRoutes: Routes = (http) => {
  const LIST = { ...READ, responses: { 200: pageOf(contract.oauthTokenSchema) } } as const
  http.get(
    '/organizations/:organization/oauth-tokens',
    {
      ...LIST,
      summary: 'List the tokens of the connections of an organization',
      query: { 'filter[provider]': text().describe('kind of host, such as `github`') },
    },
    async (req) => {
      const of = { organizationName: req.params.organization, provider: req.query['filter[provider]'] }
      return req.list(await service.listOAuthTokens(req.ctx, of, req.page()), oauthTokenResource)
    },
  )
  http.get('/oauth-clients/:id/oauth-tokens', { ...LIST, summary: 'List the tokens of a connection' }, async (req) =>
    req.list(await service.listOAuthTokens(req.ctx, { clientId: req.params.id }, req.page()), oauthTokenResource),
  )
  http.get('/oauth-tokens/:id', { ...READ, summary: 'Show the token of a connection', responses: TOKEN }, async (req) =>
    ok(oauthTokenResource(await requireOAuthToken(req.ctx, req.params.id, 'vcs-settings:read'))),
  )
  http.patch(
    '/oauth-tokens/:id',
    {
      ...MANAGE,
      summary: 'Set the SSH key of a connection, or remove it',
      audit: 'oauth_token update',
      responses: TOKEN,
      body: contract.updateOAuthTokenBody,
      authorise: async (ctx, { id }) => requireOAuthToken(ctx, id, 'vcs-settings:manage'),
    },
    async (req) => {
      const sshKey = req.body.data.attributes['ssh-key']
      return ok(oauthTokenResource(await service.updateOAuthToken(req.ctx, req.subject, sshKey)))
    },
  )
  http.delete(
    '/oauth-tokens/:id',
    { ...MANAGE, summary: 'Delete the token of a connection', audit: 'oauth_token destroy', responses: { 204: null } },
    async (req) => service.deleteOAuthToken(req.ctx, req.params.id),
  )
}

export const oauthClientLoaders: readonly Loader[] = [
  {
    type: 'oauth-clients',
    load: async (ctx, ids) => (await listReadableClients(ctx, ids)).map((client) => oauthClientResource(client, ctx)),
  },
  {
    type: 'oauth-tokens',
    load: async (ctx, ids) => (await listReadableTokens(ctx, ids)).map(oauthTokenResource),
  },
]
