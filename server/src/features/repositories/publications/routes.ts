import { moduleCommitSchema } from '@groundstate/contract/registry-modules'
import { pageOf, wholeListOf } from '@groundstate/contract/responses'
import { vcsPublicationSchema } from '@groundstate/contract/vcs-publications'
import type { Routes } from '../../../http/http.ts'
import { accepted, listAll } from '../../../http/responses.ts'
import { moduleCommitResource, publicationResource } from './resource.ts'
import * as service from './service.ts'

const LIST = { responses: { 200: pageOf(vcsPublicationSchema) } }

export const publicationRoutes: Routes = (http) => {
  http.get(
    '/vcs-deliveries/:id/publications',
    {
      ...LIST,
      summary: 'List what a delivery published in the registry and in policy sets, and why not',
      access: [{ organization: 'vcs-settings:manage' }, { workspace: 'workspace:read' }],
    },
    async (req) =>
      req.list(await service.listDeliveryPublications(req.ctx, req.params.id, req.page()), publicationResource),
  )
  http.get(
    '/registry-modules/:moduleId/publications',
    {
      ...LIST,
      summary: 'List what was published from the repository of a module, and why not, the latest first',
      access: { organization: 'registry:read' },
    },
    async (req) =>
      req.list(await service.listModulePublications(req.ctx, req.params.moduleId, req.page()), publicationResource),
  )
  http.get(
    '/organizations/:organization/registry-modules/:registry/:namespace/:name/:provider/commits',
    {
      summary: 'List the latest 20 commits that can become versions of a module',
      access: { organization: 'modules:manage' },
      responses: { 200: wholeListOf(moduleCommitSchema) },
    },
    async ({ ctx, params }) => {
      const { repository, commits } = await service.listModuleCommits(ctx, params)
      return listAll(commits.map((commit) => moduleCommitResource(repository, commit)))
    },
  )
  http.post(
    '/registry-modules/:moduleId/actions/resync',
    {
      summary: 'Publish the versions that are missing from the repository of a module',
      access: { organization: 'modules:manage' },
      audit: 'registry_module resync',
      responses: { 202: null },
    },
    async (req) => {
      await service.resyncModule(req.ctx, req.params.moduleId)
      return accepted()
    },
  )
  http.get(
    '/policy-sets/:id/publications',
    {
      ...LIST,
      summary: 'List what was published from the repository of a policy set, and why not, the latest first',
      access: { organization: 'policies:read' },
    },
    async (req) =>
      req.list(await service.listPolicySetPublications(req.ctx, req.params.id, req.page()), publicationResource),
  )
  http.post(
    '/policy-sets/:id/actions/resync',
    {
      summary: 'Publish the tip of the branch of a policy set',
      access: { organization: 'policies:manage' },
      audit: 'policy_set resync',
      responses: { 202: null },
    },
    async (req) => {
      await service.resyncPolicySet(req.ctx, req.params.id)
      return accepted()
    },
  )
}
