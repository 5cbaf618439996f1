import { adminOrganizationSchema, featureSetSchema, subscriptionSchema } from '@groundstate/contract/admin'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { subscribeBody, updateOrganizationPlanBody } from '@groundstate/contract/users'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { created, listAll, listPage, noContent, ok } from '../../../http/responses.ts'
import { requireSiteOrganization } from './access.ts'
import { deleteSiteOrganization } from './delete-organization.ts'
import { listFeatureSets, listSiteOrganizations } from './list.ts'
import { adminOrganizationResource, featureSetResource, subscriptionResource } from './resource.ts'
import { subscribe, updateSiteOrganization } from './update-organization.ts'

const ADMIN = { access: 'site-admin' } as const
const ORGANIZATION = { 200: documentOf(adminOrganizationSchema) }

const LIST = {
  ...ADMIN,
  summary: 'List all organizations',
  query: { q: text().describe('part of the name or the e-mail address') },
  responses: { 200: pageOf(adminOrganizationSchema) },
}
const SHOW = { ...ADMIN, summary: 'Show an organization as an administrator', responses: ORGANIZATION }
const UPDATE = {
  ...ADMIN,
  summary: 'Change the plan and the limits of an organization',
  audit: 'organization update',
  body: updateOrganizationPlanBody,
  responses: ORGANIZATION,
} as const
const DELETE = {
  ...ADMIN,
  summary: 'Delete an organization as an administrator',
  audit: 'organization destroy',
  responses: { 204: null },
} as const
const SUBSCRIBE = {
  ...ADMIN,
  summary: 'Subscribe an organization to a feature set',
  audit: 'organization update',
  body: subscribeBody,
  responses: { 201: documentOf(subscriptionSchema) },
} as const
const LIST_FEATURE_SETS = {
  ...ADMIN,
  summary: 'List the feature sets',
  query: { q: text().describe('part of the name') },
  responses: { 200: wholeListOf(featureSetSchema) },
}

export const adminOrganizationRoutes: Routes = (http) => {
  http.get('/admin/organizations', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listSiteOrganizations(req.ctx, { page, q: req.query.q })
    return listPage({ url: req.url, page }, { rows: rows.map(adminOrganizationResource), total })
  })

  http.get('/admin/organizations/:name', SHOW, async (req) =>
    ok(adminOrganizationResource(await requireSiteOrganization(req.ctx, req.params.name))),
  )

  http.patch('/admin/organizations/:name', UPDATE, async (req) => {
    const organization = await updateSiteOrganization(req.ctx, req.params.name, req.body.data.attributes)
    return ok(adminOrganizationResource(organization))
  })

  http.delete('/admin/organizations/:name', DELETE, async (req) => {
    await deleteSiteOrganization(req.ctx, req.params.name)
    return noContent()
  })

  http.post('/admin/organizations/:name/subscription', SUBSCRIBE, async (req) => {
    const id = req.body.data.relationships['feature-set'].data.id
    const { organization, set } = await subscribe(req.ctx, req.params.name, id)
    return created(subscriptionResource(organization, set))
  })

  http.get('/admin/feature-sets', LIST_FEATURE_SETS, async (req) =>
    listAll((await listFeatureSets(req.ctx, req.query.q)).map(featureSetResource)),
  )
}
