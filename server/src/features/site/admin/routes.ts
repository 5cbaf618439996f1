import { createUserBody, subscribeBody, updateOrganizationPlanBody, updateUserBody } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { invalidParameter } from '../../../errors.ts'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import {
  deleteSiteOrganization,
  listFeatureSets,
  listSiteOrganizations,
  showSiteOrganization,
  subscribe,
  updateSiteOrganization,
} from './organizations.ts'
import { adminOrganizationResource, adminUserResource, featureSetResource, subscriptionResource } from './resource.ts'
import type { AdminUserRow } from './store.ts'
import {
  createSiteUser,
  deleteSiteUser,
  disableUserTwoFactor,
  grantAdmin,
  listSiteUsers,
  revokeAdmin,
  showSiteUser,
  suspendUser,
  unsuspendUser,
  updateSiteUser,
} from './users.ts'

const ACTIONS: Record<string, (ctx: Ctx, id: string) => Promise<AdminUserRow>> = {
  suspend: suspendUser,
  unsuspend: unsuspendUser,
  grant_admin: grantAdmin,
  revoke_admin: revokeAdmin,
  disable_two_factor: disableUserTwoFactor,
}

export const adminUserRoutes: Routes = (http) => {
  http.get('/admin/users', { access: 'site-admin' }, async (req) => {
    const page = req.page()
    const { rows, total } = await listSiteUsers(req.ctx, {
      page,
      q: readText(req.query, 'q'),
      isAdmin: readFlag(req.query, 'filter[admin]'),
      isSuspended: readFlag(req.query, 'filter[suspended]'),
    })
    const resources = rows.map((row) => adminUserResource(row, req.ctx.baseUrl))
    return listPage({ url: req.url, page }, { rows: resources, total })
  })

  http.post('/admin/users', { access: 'site-admin', body: createUserBody }, async (req) => {
    const user = await createSiteUser(req.ctx, req.body.data.attributes)
    return created(adminUserResource(user, req.ctx.baseUrl))
  })

  http.get('/admin/users/:userId', { access: 'site-admin' }, async (req) => {
    const user = await showSiteUser(req.ctx, req.params.userId)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.patch('/admin/users/:userId', { access: 'site-admin', body: updateUserBody }, async (req) => {
    const user = await updateSiteUser(req.ctx, req.params.userId, req.body.data.attributes)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.delete('/admin/users/:userId', { access: 'site-admin' }, async (req) => {
    await deleteSiteUser(req.ctx, req.params.userId)
    return noContent()
  })

  for (const [name, act] of Object.entries(ACTIONS)) {
    http.post(`/admin/users/:userId/actions/${name}`, { access: 'site-admin' }, async (req) => {
      const user = await act(req.ctx, req.params.userId)
      return ok(adminUserResource(user, req.ctx.baseUrl))
    })
  }
}

export const adminOrganizationRoutes: Routes = (http) => {
  http.get('/admin/organizations', { access: 'site-admin' }, async (req) => {
    const page = req.page()
    const { rows, total } = await listSiteOrganizations(req.ctx, { page, q: readText(req.query, 'q') })
    return listPage({ url: req.url, page }, { rows: rows.map(adminOrganizationResource), total })
  })

  http.get('/admin/organizations/:name', { access: 'site-admin' }, async (req) =>
    ok(adminOrganizationResource(await showSiteOrganization(req.ctx, req.params.name))),
  )

  http.patch('/admin/organizations/:name', { access: 'site-admin', body: updateOrganizationPlanBody }, async (req) => {
    const organization = await updateSiteOrganization(req.ctx, req.params.name, req.body.data.attributes)
    return ok(adminOrganizationResource(organization))
  })

  http.delete('/admin/organizations/:name', { access: 'site-admin' }, async (req) => {
    await deleteSiteOrganization(req.ctx, req.params.name)
    return noContent()
  })

  http.post('/admin/organizations/:name/subscription', { access: 'site-admin', body: subscribeBody }, async (req) => {
    const id = req.body.data.relationships['feature-set'].data.id
    const { organization, set } = await subscribe(req.ctx, req.params.name, id)
    return created(subscriptionResource(organization, set))
  })

  http.get('/admin/feature-sets', { access: 'site-admin' }, async (req) =>
    listAll((await listFeatureSets(req.ctx, readText(req.query, 'q'))).map(featureSetResource)),
  )
}

function readText(query: Record<string, unknown>, name: string) {
  const value = query[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readFlag(query: Record<string, unknown>, name: string) {
  const value = readText(query, name)
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidParameter(`${name} is ${value}, it must be true or false`, name)
}
