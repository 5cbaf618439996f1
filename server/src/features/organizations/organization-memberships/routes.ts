import { membershipIncludes, ownMembershipIncludes } from '@groundstate/contract/includes'
import { invitationSchema } from '@groundstate/contract/invitations'
import type { Resource } from '@groundstate/contract/json-api'
import * as contract from '@groundstate/contract/memberships'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { invitedUserSchema, memberUserSchema } from '@groundstate/contract/users'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { reaction } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, oneOf, text, textList } from '../../../http/query.ts'
import { created, ok, unstored } from '../../../http/responses.ts'
import { includedUsers } from '../../identity/users/service.ts'
import { organizationCreating } from '../organizations/access.ts'
import { listReadableTeams } from '../teams/access.ts'
import { showTeams } from '../teams/service.ts'
import { listReadableMemberships, requireMembership } from './access.ts'
import { invitationResource, invitedUserResource } from './resource.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/organization-memberships'
const ONE = '/organization-memberships/:membershipId'

const STATUS = oneOf(
  contract.MEMBERSHIP_STATUSES,
  (value) => `is ${value}; it must be one of ${contract.MEMBERSHIP_STATUSES.join(', ')}`,
)
const Q = text().describe('part of the username or of the email address')
const SORT = oneOf(
  ['status', '-status'],
  (value) => `is ${JSON.stringify(value)}; it must be one of status, or one with a - before it`,
)
const MEMBERSHIP = { 200: documentOf(contract.membershipSchema) }
const MEMBERSHIPS = { 200: pageOf(contract.membershipSchema) }

export const membershipRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      summary: 'List the memberships of an organization',
      access: { organization: 'members:read' },
      responses: { 200: contract.membershipPage },
      include: membershipIncludes,
      query: {
        'filter[status]': STATUS,
        'filter[email]': textList().describe('email addresses'),
        'filter[team][id]': text().describe('the id of a team: its members and those invited to it'),
        'filter[two_factor]': boolean().describe(
          'only members who sign in with a password: with two-factor authentication, or without',
        ),
        q: Q,
      },
    },
    async (req) => {
      const { 'filter[status]': status, 'filter[email]': emails, 'filter[team][id]': teamId, q } = req.query
      const query = { page: req.page(), status, emails, teamId, hasTwoFactor: req.query['filter[two_factor]'], q }
      const { rows, total, ...counts } = await service.listMemberships(req.ctx, req.params.organization, query)
      const response = req.list({ rows: await service.showMemberships(req.ctx, rows), total })
      const document = response.document as { meta: object }
      const meta = { ...document.meta, 'status-counts': { total, ...counts } }
      return { ...response, document: { ...document, meta } }
    },
  )
  http.post(
    OF_ORGANIZATION,
    {
      summary: 'Invite a person to an organization',
      access: { organization: 'members:manage' },
      audit: 'organization_user create',
      responses: {
        201: documentOf(contract.membershipSchema).extend({
          included: z.array(z.union([memberUserSchema, invitedUserSchema, invitationSchema])),
        }),
      },
      body: contract.createMembershipBody,
    },
    async ({ ctx, params, body }) => {
      const { membership, link } = await service.createMembership(ctx, params.organization, body.data)
      const resource = await service.showMembership(ctx, membership)
      // The public API always includes the user of a new membership.
      const users = await loadUsers(ctx, [resource])
      return unstored(created(resource, [...users.values(), ...(link ? [invitationResource(link)] : [])]))
    },
  )
  http.post(
    `${ONE}/actions/resend-invitation`,
    {
      summary: 'Create new links of an invitation',
      access: { organization: 'members:manage' },
      audit: 'organization_user resend_invitation',
      responses: { 200: documentOf(invitationSchema) },
    },
    async ({ ctx, params }) =>
      unstored(ok(invitationResource(await service.resendInvitation(ctx, params.membershipId)))),
  )
  http.get(
    '/organization-memberships',
    {
      summary: "List the caller's own memberships",
      access: 'signed-in',
      responses: MEMBERSHIPS,
      include: ownMembershipIncludes,
    },
    async (req) => {
      const { rows, total } = await service.listOwnMemberships(req.ctx, req.page())
      return req.list({ rows: await service.showMemberships(req.ctx, rows), total })
    },
  )
  http.get(
    ONE,
    {
      summary: 'Show an organization membership',
      access: [{ organization: 'members:read' }, 'self'],
      responses: MEMBERSHIP,
      include: membershipIncludes,
    },
    async ({ ctx, params }) => ok(await service.showMembership(ctx, await requireMembership(ctx, params.membershipId))),
  )
  http.delete(
    ONE,
    {
      summary: 'Remove a person from an organization',
      access: [{ organization: 'members:manage' }, 'self'],
      audit: 'organization_user destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteMembership(req.ctx, req.params.membershipId),
  )
  http.get(
    '/teams/:teamId/relationships/organization-memberships',
    {
      summary: 'List the organization memberships in a team',
      access: { team: 'team:read' },
      responses: MEMBERSHIPS,
      include: membershipIncludes,
      query: {
        'filter[status]': STATUS,
        'filter[is_service_account]': boolean().describe('true: none, since service accounts have no memberships'),
        q: Q,
        sort: SORT,
      },
    },
    async (req) => {
      const { sort, q, 'filter[status]': status, 'filter[is_service_account]': isServiceAccount = false } = req.query
      const byStatus = sort && (sort === 'status' ? 'asc' : 'desc')
      const { rows, total } = await service.listTeamMemberships(req.ctx, req.params.teamId, {
        page: req.page(),
        status,
        q,
        byStatus,
      })
      const resources = await service.showMemberships(req.ctx, isServiceAccount ? [] : rows)
      return req.list({ rows: resources, total: isServiceAccount ? 0 : total })
    },
  )
}

export const membershipLoaders: readonly Loader[] = [
  {
    type: 'organization-memberships',
    load: async (ctx, ids) => service.showMemberships(ctx, await listReadableMemberships(ctx, ids)),
  },
  { of: 'organization-memberships', relation: 'user', load: loadUsers },
  { of: 'organization-memberships', relation: 'teams', load: loadTeams },
]

/** The users of memberships by membership id, with the addresses of the memberships and placeholders for invited users. */
async function loadUsers(ctx: Ctx, memberships: readonly Resource[]) {
  const active = memberships.filter((membership) => !isInvitation(membership))
  const users = await includedUsers(
    ctx,
    active.flatMap((membership) => relatedIds(membership, 'user')),
  )
  const accounts = new Map<string, Resource>(users.map((user) => [user.id, user]))
  return new Map(
    memberships.flatMap((membership) => {
      const [id = ''] = relatedIds(membership, 'user')
      const address = membership.attributes?.['email']
      const email = typeof address === 'string' ? address : null
      const account = accounts.get(id)
      const member = account && { ...account, attributes: { ...account.attributes, email } }
      const user = isInvitation(membership) ? invitedUserResource(id, email) : member
      return user ? [[membership.id, user] as const] : []
    }),
  )
}

function isInvitation({ attributes }: Resource) {
  return attributes?.['status'] === 'invited'
}

async function loadTeams(ctx: Ctx, memberships: readonly Resource[]) {
  const ids = new Set(memberships.flatMap((membership) => relatedIds(membership, 'teams')))
  const resources = await showTeams(ctx, await listReadableTeams(ctx, [...ids]))
  const teams = new Map(resources.map((team) => [team.id, team]))
  const ofMembership = (membership: Resource) => relatedIds(membership, 'teams').flatMap((id) => teams.get(id) ?? [])
  return new Map(memberships.map((membership) => [membership.id, ofMembership(membership)]))
}

function relatedIds({ relationships }: Resource, relation: string) {
  return [relationships?.[relation]?.data ?? []].flat().map(({ id }) => id)
}

export const membershipReactions = [
  reaction(organizationCreating, async (ctx, { organizationId, ownerId }) =>
    service.insertOwnersTeam(ctx, organizationId, ownerId),
  ),
]
