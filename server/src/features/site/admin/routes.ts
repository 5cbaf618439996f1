import * as contract from '@groundstate/contract/admin'
import { passwordResetSchema } from '@groundstate/contract/password-resets'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { createUserBody, subscribeBody, updateOrganizationPlanBody, updateUserBody } from '@groundstate/contract/users'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { boolean, text } from '../../../http/query.ts'
import { created, listAll, ok, unstored } from '../../../http/responses.ts'
import { passwordResetResource } from '../../identity/password-resets/resource.ts'
import * as organizations from './organizations.ts'
import {
  adminMembershipResource,
  adminOrganizationResource,
  adminUserResource,
  featureSetResource,
  subscriptionResource,
} from './resource.ts'
import * as users from './users.ts'

const ADMIN = { access: 'site-admin' } as const
const ORGANIZATION = { access: 'site-admin', responses: { 200: documentOf(contract.adminOrganizationSchema) } } as const
const ONE_ORGANIZATION = '/admin/organizations/:name'

export const adminOrganizationRoutes: Routes = (http) => {
  http.get(
    '/admin/organizations',
    {
      ...ADMIN,
      summary: 'List all organizations',
      query: { q: text().describe('part of the name or the e-mail address') },
      responses: { 200: pageOf(contract.adminOrganizationSchema) },
    },
    async (req) => {
      const query = { page: req.page(), q: req.query.q }
      return req.list(await organizations.listSiteOrganizations(req.ctx, query), adminOrganizationResource)
    },
  )
  http.get(
    ONE_ORGANIZATION,
    { ...ORGANIZATION, summary: 'Show an organization as an administrator' },
    async ({ ctx, params }) =>
      ok(adminOrganizationResource(await organizations.requireSiteOrganization(ctx, params.name))),
  )
  http.patch(
    ONE_ORGANIZATION,
    {
      ...ORGANIZATION,
      summary: 'Change the plan and the limits of an organization',
      audit: 'organization update',
      body: updateOrganizationPlanBody,
    },
    async ({ ctx, params, body }) => {
      const organization = await organizations.updateSiteOrganization(ctx, params.name, body.data.attributes)
      return ok(adminOrganizationResource(organization))
    },
  )
  http.delete(
    ONE_ORGANIZATION,
    {
      ...ADMIN,
      summary: 'Delete an organization as an administrator',
      audit: 'organization destroy',
      responses: { 204: null },
    },
    async (req) => organizations.deleteSiteOrganization(req.ctx, req.params.name),
  )
  http.post(
    `${ONE_ORGANIZATION}/subscription`,
    {
      ...ADMIN,
      summary: 'Subscribe an organization to a feature set',
      audit: 'organization update',
      body: subscribeBody,
      responses: { 201: documentOf(contract.subscriptionSchema) },
    },
    async ({ ctx, params, body }) => {
      const { id } = body.data.relationships['feature-set'].data
      const { organization, set } = await organizations.subscribe(ctx, params.name, id)
      return created(subscriptionResource(organization, set))
    },
  )
  http.get(
    '/admin/feature-sets',
    {
      ...ADMIN,
      summary: 'List the feature sets',
      query: { q: text().describe('part of the name') },
      responses: { 200: wholeListOf(contract.featureSetSchema) },
    },
    async ({ ctx, query }) => listAll((await organizations.listFeatureSets(ctx, query.q)).map(featureSetResource)),
  )
}

const USER = { access: 'site-admin', responses: { 200: documentOf(contract.adminUserSchema) } } as const
const ONE_USER = '/admin/users/:userId'

const setAdmin = (isAdmin: boolean) => async (ctx: Ctx, id: string) =>
  users.updateSiteUser(ctx, id, { 'is-admin': isAdmin })

const ACTIONS = {
  suspend: { summary: 'Suspend a user', audit: 'user suspend', act: users.suspendUser },
  unsuspend: { summary: 'Unsuspend a user', audit: 'user unsuspend', act: users.unsuspendUser },
  grant_admin: { summary: 'Make a user a site administrator', audit: 'user update', act: setAdmin(true) },
  revoke_admin: { summary: 'Make a site administrator an ordinary user', audit: 'user update', act: setAdmin(false) },
  disable_two_factor: {
    summary: "Disable a user's two-factor authentication",
    audit: 'user disable_two_factor',
    act: users.disableUserTwoFactor,
  },
} as const

export const adminUserRoutes: Routes = (http) => {
  http.get(
    '/admin/users',
    {
      ...ADMIN,
      summary: 'List all users',
      query: {
        q: text().describe('part of the username or the e-mail address'),
        'filter[admin]': boolean().describe('only site administrators, or only others'),
        'filter[suspended]': boolean().describe('only suspended users, or only others'),
        'filter[unconfirmed]': boolean().describe(
          'only users who entered an address that is not confirmed, or only others',
        ),
        'filter[two-factor]': boolean().describe(
          'only users with two-factor authentication, or only users with a password and without it',
        ),
      },
      responses: { 200: pageOf(contract.adminUserSchema) },
    },
    async (req) => {
      const { q, 'filter[admin]': isAdmin, 'filter[suspended]': isSuspended } = req.query
      const filter = {
        q,
        isAdmin,
        isSuspended,
        hasTwoFactor: req.query['filter[two-factor]'],
        isUnconfirmed: req.query['filter[unconfirmed]'],
      }
      const list = await users.listSiteUsers(req.ctx, { page: req.page(), ...filter })
      return req.list(list, (row) => adminUserResource(row, req.ctx.baseUrl))
    },
  )
  http.post(
    '/admin/users',
    {
      ...ADMIN,
      summary: 'Create a user',
      audit: 'user create',
      body: createUserBody,
      responses: {
        201: documentOf(contract.adminUserSchema).extend({ included: z.array(passwordResetSchema).optional() }),
      },
    },
    async ({ ctx, body }) => {
      const { user, reset } = await users.createSiteUser(ctx, body.data.attributes)
      const included = reset && [passwordResetResource(reset)]
      return unstored(created(adminUserResource(user, ctx.baseUrl), included))
    },
  )
  http.get(ONE_USER, { ...USER, summary: 'Show a user as an administrator' }, async ({ ctx, params }) =>
    ok(adminUserResource(await users.requireSiteUser(ctx, params.userId), ctx.baseUrl)),
  )
  http.get(
    `${ONE_USER}/organization-memberships`,
    {
      ...ADMIN,
      summary: 'List the organizations and teams of a user',
      responses: { 200: pageOf(contract.adminMembershipSchema) },
    },
    async (req) =>
      req.list(await users.listSiteMemberships(req.ctx, req.params.userId, req.page()), adminMembershipResource),
  )
  http.patch(
    ONE_USER,
    { ...USER, summary: 'Update a user', audit: 'user update', body: updateUserBody },
    async ({ ctx, params, body }) => {
      const user = await users.updateSiteUser(ctx, params.userId, body.data.attributes)
      return ok(adminUserResource(user, ctx.baseUrl))
    },
  )
  http.delete(
    ONE_USER,
    { ...ADMIN, summary: 'Delete a user', audit: 'user destroy', responses: { 204: null } },
    async (req) => users.deleteSiteUser(req.ctx, req.params.userId),
  )
  http.post(
    `${ONE_USER}/actions/reset_password`,
    {
      ...ADMIN,
      summary: "Create a link to set a user's password",
      audit: 'user create_password_reset',
      responses: { 200: documentOf(passwordResetSchema) },
    },
    async ({ ctx, params }) => unstored(ok(passwordResetResource(await users.resetUserPassword(ctx, params.userId)))),
  )
  for (const [name, { act, ...described }] of Object.entries(ACTIONS)) {
    http.post(`${ONE_USER}/actions/${name}`, { ...USER, ...described }, async ({ ctx, params }) =>
      ok(adminUserResource(await act(ctx, params.userId), ctx.baseUrl)),
    )
  }
}
