import { organizationOverviewSchema } from '@groundstate/contract/organization-overviews'
import { documentOf } from '@groundstate/contract/responses'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { readOrganizationOverview } from './read.ts'
import { organizationOverviewResource } from './resource.ts'

export const organizationOverviewRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/overview',
    {
      summary: 'Show what needs attention in an organization',
      access: { organization: 'organization:read' },
      responses: { 200: documentOf(organizationOverviewSchema) },
    },
    async (req) => ok(organizationOverviewResource(await readOrganizationOverview(req.ctx, req.params.organization))),
  )
}
