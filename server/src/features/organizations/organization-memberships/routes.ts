import { membershipIncludes, ownMembershipIncludes } from '@groundstate/contract/includes'
import {
  MEMBERSHIP_STATUSES,
  createMembershipBody,
  membershipPage,
  membershipSchema,
} from '@groundstate/contract/memberships'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { invitedUserSchema, userSchema } from '@groundstate/contract/users'
import { z } from 'zod'
import { reaction } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import { boolean, oneOf, text, textList } from '../../../http/query.ts'
import { type ApiResponse, created, ok } from '../../../http/responses.ts'
import { organizationCreating } from '../organizations/access.ts'
import { requireMembership } from './access.ts'
import { loadUsers } from './includes.ts'
import {
  createMembership,
  deleteMembership,
  insertOwnersTeam,
  listMemberships,
  listOwnMemberships,
  listTeamMemberships,
  showMembership,
  showMemberships,
} from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/organization-memberships'
const ONE = '/organization-memberships/:membershipId'

const STATUS = oneOf(MEMBERSHIP_STATUSES, (given) => `is ${given}, it must be one of ${MEMBERSHIP_STATUSES.join(', ')}`)
const SORT = oneOf(
  ['status', '-status'],
  (given) => `is ${JSON.stringify(given)}, it must be one of status, or one with a - before it`,
)

const LIST = {
  summary: 'List the memberships of an organization',
  access: { organization: 'members:read' },
  responses: { 200: membershipPage },
  include: membershipIncludes,
  query: {
    'filter[status]': STATUS,
    'filter[email]': textList().describe('email addresses'),
    q: text().describe('part of the username or of the email address'),
  },
} as const
const CREATE = {
  summary: 'Invite a person to an organization',
  access: { organization: 'members:manage' },
  audit: 'organization_user create',
  responses: {
    201: documentOf(membershipSchema).extend({ included: z.array(z.union([userSchema, invitedUserSchema])) }),
  },
  body: createMembershipBody,
} as const
const LIST_OWN = {
  summary: "List the caller's own memberships",
  access: 'signed-in',
  responses: { 200: pageOf(membershipSchema) },
  include: ownMembershipIncludes,
} as const
const SHOW = {
  summary: 'Show an organization membership',
  access: [{ organization: 'members:read' }, 'self'],
  responses: { 200: documentOf(membershipSchema) },
  include: membershipIncludes,
} as const
const DELETE = {
  summary: 'Remove a person from an organization',
  access: [{ organization: 'members:manage' }, 'self'],
  audit: 'organization_user destroy',
  responses: { 204: null },
} as const
const LIST_OF_TEAM = {
  summary: 'List the organization memberships in a team',
  access: { team: 'team:read' },
  responses: { 200: pageOf(membershipSchema) },
  query: {
    'filter[status]': STATUS,
    'filter[is_service_account]': boolean().describe('true: none, since service accounts have no memberships'),
    sort: SORT,
  },
} as const

export const membershipRoutes: Routes = (http) => {
  http.get(OF_ORGANIZATION, LIST, async (req) => {
    const { rows, total, active, invited } = await listMemberships(req.ctx, req.params.organization, {
      page: req.page(),
      status: req.query['filter[status]'],
      emails: req.query['filter[email]'],
      q: req.query.q,
    })
    const response = req.list({ rows: await showMemberships(req.ctx, rows), total })
    return withMeta(response, { 'status-counts': { total, active, invited } })
  })
  http.post(OF_ORGANIZATION, CREATE, async (req) => {
    const membership = await createMembership(req.ctx, req.params.organization, req.body.data)
    const resource = await showMembership(req.ctx, membership)
    // The public API always sends the user along with a new membership.
    const users = await loadUsers(req.ctx, [resource])
    return created(resource, [...users.values()])
  })
  http.get('/organization-memberships', LIST_OWN, async (req) => {
    const { rows, total } = await listOwnMemberships(req.ctx, req.page())
    return req.list({ rows: await showMemberships(req.ctx, rows), total })
  })
  http.get(ONE, SHOW, async (req) => {
    return ok(await showMembership(req.ctx, await requireMembership(req.ctx, req.params.membershipId)))
  })
  http.delete(ONE, DELETE, async (req) => deleteMembership(req.ctx, req.params.membershipId))
  http.get('/teams/:teamId/relationships/organization-memberships', LIST_OF_TEAM, async (req) => {
    const { sort } = req.query
    const query = {
      page: req.page(),
      status: req.query['filter[status]'],
      byStatus: sort && (sort === 'status' ? ('asc' as const) : ('desc' as const)),
    }
    // Service accounts have no memberships.
    const none = req.query['filter[is_service_account]'] === true
    const { rows, total } = await listTeamMemberships(req.ctx, req.params.teamId, query)
    const resources = await showMemberships(req.ctx, none ? [] : rows)
    return req.list({ rows: resources, total: none ? 0 : total })
  })
}

function withMeta(response: ApiResponse, meta: Record<string, unknown>): ApiResponse {
  const document = response.document as { meta: object }
  return { ...response, document: { ...document, meta: { ...document.meta, ...meta } } }
}

export const membershipReactions = [
  reaction(organizationCreating, async (ctx, { organizationId, ownerId }) =>
    insertOwnersTeam(ctx, organizationId, ownerId),
  ),
]
