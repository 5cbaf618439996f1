import {
  adminOrganizationSchema,
  adminUserSchema,
  featureSetSchema,
  subscriptionSchema,
} from '@groundstate/contract/admin'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { createUserBody, subscribeBody, updateOrganizationPlanBody, updateUserBody } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { boolean, text } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import type { AuditEventName } from '../../../http/route-access.ts'
import { requireSiteOrganization, requireSiteUser } from './access.ts'
import { deleteSiteOrganization, subscribe, updateSiteOrganization } from './organizations.ts'
import { adminOrganizationResource, adminUserResource, featureSetResource, subscriptionResource } from './resource.ts'
import { listFeatureSets, listSiteOrganizations, listSiteUsers } from './service.ts'
import type { AdminUserRow } from './store.ts'
import {
  createSiteUser,
  deleteSiteUser,
  disableUserTwoFactor,
  grantAdmin,
  revokeAdmin,
  suspendUser,
  unsuspendUser,
  updateSiteUser,
} from './users.ts'

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
    return req.list(
      await listSiteOrganizations(req.ctx, { page: req.page(), q: req.query.q }),
      adminOrganizationResource,
    )
  })

  http.get('/admin/organizations/:name', SHOW, async (req) =>
    ok(adminOrganizationResource(await requireSiteOrganization(req.ctx, req.params.name))),
  )

  http.patch('/admin/organizations/:name', UPDATE, async (req) => {
    const organization = await updateSiteOrganization(req.ctx, req.params.name, req.body.data.attributes)
    return ok(adminOrganizationResource(organization))
  })

  http.delete('/admin/organizations/:name', DELETE, async (req) => deleteSiteOrganization(req.ctx, req.params.name))

  http.post('/admin/organizations/:name/subscription', SUBSCRIBE, async (req) => {
    const id = req.body.data.relationships['feature-set'].data.id
    const { organization, set } = await subscribe(req.ctx, req.params.name, id)
    return created(subscriptionResource(organization, set))
  })

  http.get('/admin/feature-sets', LIST_FEATURE_SETS, async (req) =>
    listAll((await listFeatureSets(req.ctx, req.query.q)).map(featureSetResource)),
  )
}

const USER_ADMIN = { access: 'site-admin' } as const
const USER = { 200: documentOf(adminUserSchema) }

const USER_LIST = {
  ...USER_ADMIN,
  summary: 'List all users',
  query: {
    q: text().describe('part of the username or the e-mail address'),
    'filter[admin]': boolean().describe('only site administrators, or only others'),
    'filter[suspended]': boolean().describe('only suspended users, or only others'),
  },
  responses: { 200: pageOf(adminUserSchema) },
}
const CREATE = {
  ...USER_ADMIN,
  summary: 'Create a user',
  audit: 'user create',
  body: createUserBody,
  responses: { 201: documentOf(adminUserSchema) },
} as const
const USER_SHOW = { ...USER_ADMIN, summary: 'Show a user as an administrator', responses: USER }
const USER_UPDATE = {
  ...USER_ADMIN,
  summary: 'Update a user',
  audit: 'user update',
  body: updateUserBody,
  responses: USER,
} as const
const USER_DELETE = {
  ...USER_ADMIN,
  summary: 'Delete a user',
  audit: 'user destroy',
  responses: { 204: null },
} as const

type Action = { summary: string; audit: AuditEventName; act: (ctx: Ctx, id: string) => Promise<AdminUserRow> }
const ACTIONS: Record<string, Action> = {
  suspend: { summary: 'Suspend a user', audit: 'user suspend', act: suspendUser },
  unsuspend: { summary: 'Unsuspend a user', audit: 'user unsuspend', act: unsuspendUser },
  grant_admin: { summary: 'Make a user a site administrator', audit: 'user update', act: grantAdmin },
  revoke_admin: { summary: 'Make a site administrator an ordinary user', audit: 'user update', act: revokeAdmin },
  disable_two_factor: {
    summary: "Switch a user's two-factor authentication off",
    audit: 'user disable_two_factor',
    act: disableUserTwoFactor,
  },
}

export const adminUserRoutes: Routes = (http) => {
  http.get('/admin/users', USER_LIST, async (req) => {
    const { rows, total } = await listSiteUsers(req.ctx, {
      page: req.page(),
      q: req.query.q,
      isAdmin: req.query['filter[admin]'],
      isSuspended: req.query['filter[suspended]'],
    })
    const resources = rows.map((row) => adminUserResource(row, req.ctx.baseUrl))
    return req.list({ rows: resources, total })
  })

  http.post('/admin/users', CREATE, async (req) => {
    const user = await createSiteUser(req.ctx, req.body.data.attributes)
    return created(adminUserResource(user, req.ctx.baseUrl))
  })

  http.get('/admin/users/:userId', USER_SHOW, async (req) => {
    const user = await requireSiteUser(req.ctx, req.params.userId)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.patch('/admin/users/:userId', USER_UPDATE, async (req) => {
    const user = await updateSiteUser(req.ctx, req.params.userId, req.body.data.attributes)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.delete('/admin/users/:userId', USER_DELETE, async (req) => deleteSiteUser(req.ctx, req.params.userId))

  for (const [name, { act, ...described }] of Object.entries(ACTIONS)) {
    http.post(`/admin/users/:userId/actions/${name}`, { ...USER_ADMIN, ...described, responses: USER }, async (req) => {
      const user = await act(req.ctx, req.params.userId)
      return ok(adminUserResource(user, req.ctx.baseUrl))
    })
  }
}
