import { adminUserSchema } from '@groundstate/contract/admin'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createUserBody, updateUserBody } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { boolean, text } from '../../../http/query.ts'
import { created, listPage, noContent, ok } from '../../../http/responses.ts'
import type { AuditEventName } from '../../../http/route-audit.ts'
import { requireSiteUser } from './access.ts'
import { createSiteUser } from './create-user.ts'
import { deleteSiteUser } from './delete-user.ts'
import { listSiteUsers } from './list.ts'
import { adminUserResource } from './resource.ts'
import type { AdminUserRow } from './store.ts'
import {
  disableUserTwoFactor,
  grantAdmin,
  revokeAdmin,
  suspendUser,
  unsuspendUser,
  updateSiteUser,
} from './update-user.ts'

const ADMIN = { access: 'site-admin' } as const
const USER = { 200: documentOf(adminUserSchema) }

const LIST = {
  ...ADMIN,
  summary: 'List all users',
  query: {
    q: text().describe('part of the username or the e-mail address'),
    'filter[admin]': boolean().describe('only site administrators, or only others'),
    'filter[suspended]': boolean().describe('only suspended users, or only others'),
  },
  responses: { 200: pageOf(adminUserSchema) },
}
const CREATE = {
  ...ADMIN,
  summary: 'Create a user',
  audit: 'user create',
  body: createUserBody,
  responses: { 201: documentOf(adminUserSchema) },
} as const
const SHOW = { ...ADMIN, summary: 'Show a user as an administrator', responses: USER }
const UPDATE = {
  ...ADMIN,
  summary: 'Update a user',
  audit: 'user update',
  body: updateUserBody,
  responses: USER,
} as const
const DELETE = { ...ADMIN, summary: 'Delete a user', audit: 'user destroy', responses: { 204: null } } as const

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
  http.get('/admin/users', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listSiteUsers(req.ctx, {
      page,
      q: req.query.q,
      isAdmin: req.query['filter[admin]'],
      isSuspended: req.query['filter[suspended]'],
    })
    const resources = rows.map((row) => adminUserResource(row, req.ctx.baseUrl))
    return listPage({ url: req.url, page }, { rows: resources, total })
  })

  http.post('/admin/users', CREATE, async (req) => {
    const user = await createSiteUser(req.ctx, req.body.data.attributes)
    return created(adminUserResource(user, req.ctx.baseUrl))
  })

  http.get('/admin/users/:userId', SHOW, async (req) => {
    const user = await requireSiteUser(req.ctx, req.params.userId)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.patch('/admin/users/:userId', UPDATE, async (req) => {
    const user = await updateSiteUser(req.ctx, req.params.userId, req.body.data.attributes)
    return ok(adminUserResource(user, req.ctx.baseUrl))
  })

  http.delete('/admin/users/:userId', DELETE, async (req) => {
    await deleteSiteUser(req.ctx, req.params.userId)
    return noContent()
  })

  for (const [name, { act, ...described }] of Object.entries(ACTIONS)) {
    http.post(`/admin/users/:userId/actions/${name}`, { ...ADMIN, ...described, responses: USER }, async (req) => {
      const user = await act(req.ctx, req.params.userId)
      return ok(adminUserResource(user, req.ctx.baseUrl))
    })
  }
}
