import { githubAppInstallationSchema } from '@groundstate/contract/oauth-clients'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import * as service from './service.ts'

const READ = { access: { organization: 'vcs-settings:read' } } as const
const MANAGE = { access: { organization: 'vcs-settings:manage' }, responses: { 204: null } } as const
const LIST = { 200: pageOf(githubAppInstallationSchema) }
const FILTER = {
  'filter[name]': text().describe('login of the organization or user on GitHub'),
  'filter[installation_id]': text().describe("GitHub's number of the installation"),
}

export const githubAppInstallationRoutes: Routes = (http) => {
  http.get(
    '/github-app/installations',
    {
      access: 'signed-in',
      summary: 'List the installations of the GitHub App in the organizations of the caller',
      responses: LIST,
      query: FILTER,
    },
    async (req) => {
      const { 'filter[name]': name, 'filter[installation_id]': installationId } = req.query
      const list = await service.listOwnInstallations(req.ctx, { name, installationId, page: req.page() })
      return req.list(list, service.installationResource)
    },
  )
  http.get(
    '/github-app/installation/:installationId',
    { ...READ, summary: 'Show an installation', responses: { 200: documentOf(githubAppInstallationSchema) } },
    async ({ ctx, params }) =>
      ok(
        service.installationResource(
          await service.requireInstallation(ctx, params.installationId, 'vcs-settings:read'),
        ),
      ),
  )
  http.delete(
    '/github-app/installation/:installationId',
    { ...MANAGE, summary: 'Unlink an installation from its organization', audit: 'github_app_installation unlink' },
    async ({ ctx, params }) => service.unlinkInstallation(ctx, params.installationId),
  )
  http.get(
    '/organizations/:organization/github-app-installations',
    { ...READ, summary: 'List the installations of the GitHub App of an organization', responses: LIST },
    async (req) =>
      req.list(
        await service.listOrganizationInstallations(req.ctx, req.params.organization, req.page()),
        service.installationResource,
      ),
  )
  http.post(
    '/organizations/:organization/github-app-installations/:installationId/link-account',
    {
      ...MANAGE,
      summary: 'Link an installation of another organization, too',
      audit: 'github_app_installation link',
    },
    async ({ ctx, params }) => service.linkToOrganization(ctx, params.organization, params.installationId),
  )
}
