import { documentOf, pageOf } from '@groundstate/contract/answers'
import { membershipIncludes, ownMembershipIncludes } from '@groundstate/contract/includes'
import {
  createMembershipBody,
  MEMBERSHIP_STATUSES,
  membershipPage,
  membershipSchema,
} from '@groundstate/contract/memberships'
import { invitedUserSchema, userSchema } from '@groundstate/contract/users'
import { z } from 'zod'
import { invalidParameter } from '../../../errors.ts'
import { type Answer, created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean, readList, readSort, readText } from '../../../http/query.ts'
import { requireMembership } from './access.ts'
import { createMembership } from './create.ts'
import { deleteMembership } from './delete.ts'
import { loadUsers } from './includes.ts'
import { listMemberships, listOwnMemberships, listTeamMemberships } from './list.ts'
import { showMembership, showMemberships } from './show.ts'

const OF_ORGANIZATION = '/organizations/:organization/organization-memberships'
const ONE = '/organization-memberships/:membershipId'

const LIST = {
  summary: 'List the memberships of an organization',
  answers: { 200: membershipPage },
  include: membershipIncludes,
  query: {
    'filter[status]': z.enum(MEMBERSHIP_STATUSES),
    'filter[email]': z.string().describe('email addresses, separated by commas'),
    q: z.string().describe('part of the username or of the email address'),
  },
}
const CREATE = {
  summary: 'Invite a person to an organization',
  answers: {
    201: documentOf(membershipSchema).extend({ included: z.array(z.union([userSchema, invitedUserSchema])) }),
  },
  body: createMembershipBody,
}
const LIST_OWN = {
  summary: "List the caller's own memberships",
  answers: { 200: pageOf(membershipSchema) },
  include: ownMembershipIncludes,
}
const SHOW = {
  summary: 'Show an organization membership',
  answers: { 200: documentOf(membershipSchema) },
  include: membershipIncludes,
}
const DELETE = { summary: 'Remove a person from an organization', answers: { 204: null } }
const LIST_OF_TEAM = {
  summary: 'List the organization memberships in a team',
  answers: { 200: pageOf(membershipSchema) },
  query: {
    'filter[status]': z.enum(MEMBERSHIP_STATUSES),
    'filter[is_service_account]': z.boolean().describe('true: none, since service accounts have no memberships'),
    sort: z.enum(['status', '-status']),
  },
}

export const membershipRoutes: Routes = (http) => {
  http.get(OF_ORGANIZATION, LIST, async (req) => {
    const page = req.page()
    const { rows, total, active, invited } = await listMemberships(req.ctx, req.params.organization, {
      page,
      status: readStatus(req.query),
      emails: readList(req.query, 'filter[email]'),
      q: readText(req.query, 'q'),
    })
    const answer = listPage({ url: req.url, page }, { rows: await showMemberships(req.ctx, rows), total })
    return withMeta(answer, { 'status-counts': { total, active, invited } })
  })
  http.post(OF_ORGANIZATION, CREATE, async (req) => {
    const membership = await createMembership(req.ctx, req.params.organization, req.body.data)
    const resource = await showMembership(req.ctx, membership)
    // The public API always sends the user along with a new membership.
    const users = await loadUsers(req.ctx, [resource])
    return created(resource, [...users.values()])
  })
  http.get('/organization-memberships', LIST_OWN, async (req) => {
    const page = req.page()
    const { rows, total } = await listOwnMemberships(req.ctx, page)
    return listPage({ url: req.url, page }, { rows: await showMemberships(req.ctx, rows), total })
  })
  http.get(ONE, SHOW, async (req) => {
    return ok(await showMembership(req.ctx, await requireMembership(req.ctx, req.params.membershipId)))
  })
  http.delete(ONE, DELETE, async (req) => {
    await deleteMembership(req.ctx, req.params.membershipId)
    return noContent()
  })
  http.get('/teams/:teamId/relationships/organization-memberships', LIST_OF_TEAM, async (req) => {
    const page = req.page()
    const sort = readText(req.query, 'sort') === undefined ? undefined : readSort(req.query, ['status'], 'status')
    const query = {
      page,
      status: readStatus(req.query),
      byStatus: sort && (sort.descending ? ('desc' as const) : ('asc' as const)),
    }
    // Service accounts have no memberships.
    const none = readBoolean(req.query, 'filter[is_service_account]') === true
    const { rows, total } = await listTeamMemberships(req.ctx, req.params.teamId, query)
    const resources = await showMemberships(req.ctx, none ? [] : rows)
    return listPage({ url: req.url, page }, { rows: resources, total: none ? 0 : total })
  })
}

function readStatus(query: Record<string, unknown>) {
  const status = readText(query, 'filter[status]')
  if (status === undefined || MEMBERSHIP_STATUSES.some((known) => known === status)) return status
  throw invalidParameter(
    `filter[status] is ${status}, it must be one of ${MEMBERSHIP_STATUSES.join(', ')}`,
    'filter[status]',
  )
}

function withMeta(answer: Answer, meta: Record<string, unknown>): Answer {
  const document = answer.document as { meta: object }
  return { ...answer, document: { ...document, meta: { ...document.meta, ...meta } } }
}
