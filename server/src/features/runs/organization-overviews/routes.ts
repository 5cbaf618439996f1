import { documentOf } from '@groundstate/contract/answers'
import { organizationOverviewSchema } from '@groundstate/contract/organization-overviews'
import { ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readOrganizationOverview } from './read.ts'
import { organizationOverviewResource } from './resource.ts'

export const organizationOverviewRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/overview',
    {
      summary: 'Show what needs attention in an organization',
      access: { organization: 'organization:read' },
      answers: { 200: documentOf(organizationOverviewSchema) },
    },
    async (req) => ok(organizationOverviewResource(await readOrganizationOverview(req.ctx, req.params.organization))),
  )
}
