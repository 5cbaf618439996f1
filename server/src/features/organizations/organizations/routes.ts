import type { Resource } from '@groundstate/contract/json-api'
import { createOrganizationBody, updateOrganizationBody } from '@groundstate/contract/organizations'
import type { Ctx } from '../../../app.ts'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { listReadableProjects } from '../projects/access.ts'
import { entitlementSetResource, organizationResource } from './resource.ts'
import { projectResource } from '../projects/resource.ts'
import type { Organization } from './organization.ts'
import { listOrganizations } from './list.ts'
import { requireOrganization } from './access.ts'
import { createOrganization } from './create.ts'
import { deleteOrganization } from './delete.ts'
import { updateOrganization } from './update.ts'

// Subscriptions are among what clients may ask for; none is sold here.
const INCLUDES = ['entitlement_set', 'default-project', 'subscription'] as const

export const organizationRoutes: Routes = (http) => {
  http.get('/organizations', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listOrganizations(req.ctx, {
      page,
      q: readText(req.query, 'q'),
      name: readText(req.query, 'q[name]'),
      email: readText(req.query, 'q[email]'),
    })
    const list = { rows: rows.map(organizationResource), total }
    return listPage({ url: req.url, page }, list, await included(req.ctx, rows, req.includes))
  })
  http.post('/organizations', { body: createOrganizationBody }, async (req) => {
    const organization = await createOrganization(req.ctx, req.body.data.attributes)
    return created(organizationResource(organization))
  })
  http.get('/organizations/:organization', { include: INCLUDES }, async (req) => {
    const organization = await requireOrganization(req.ctx, req.params.organization, 'organization:read')
    return ok(organizationResource(organization), await included(req.ctx, [organization], req.includes))
  })
  http.patch('/organizations/:organization', { body: updateOrganizationBody }, async (req) => {
    return ok(organizationResource(await updateOrganization(req.ctx, req.params.organization, req.body.data)))
  })
  http.put('/organizations/:organization', { body: updateOrganizationBody }, async (req) => {
    return ok(organizationResource(await updateOrganization(req.ctx, req.params.organization, req.body.data)))
  })
  http.delete('/organizations/:organization', async (req) => {
    await deleteOrganization(req.ctx, req.params.organization)
    return noContent()
  })
  http.get('/organizations/:organization/entitlement-set', async (req) => {
    return ok(entitlementSetResource(await requireOrganization(req.ctx, req.params.organization, 'organization:read')))
  })
}

async function included(ctx: Ctx, organizations: readonly Organization[], includes: ReadonlySet<string>) {
  if (includes.size === 0) return undefined
  const resources: Resource[] = []
  if (includes.has('entitlement_set')) resources.push(...organizations.map(entitlementSetResource))
  if (includes.has('default-project')) {
    const ids = organizations.flatMap((organization) => organization.default_project_id ?? [])
    resources.push(...(await listReadableProjects(ctx, ids)).map((project) => projectResource(project)))
  }
  return resources
}
