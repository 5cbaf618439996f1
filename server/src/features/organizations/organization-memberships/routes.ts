import { createMembershipBody, MEMBERSHIP_STATUSES } from '@groundstate/contract/memberships'
import { invalidParameter } from '../../../errors.ts'
import { type Answer, created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean, readList, readSort, readText } from '../../../http/query.ts'
import { createMembership } from './create.ts'
import { deleteMembership } from './delete.ts'
import { MEMBERSHIP_INCLUDES, membershipDocument, membershipDocuments, OWN_MEMBERSHIP_INCLUDES } from './documents.ts'
import { listMemberships, listOwnMemberships, listTeamMemberships } from './list.ts'
import { requireMembership } from './access.ts'

export const membershipRoutes: Routes = (http) => {
  http.get('/organizations/:organization/organization-memberships', { include: MEMBERSHIP_INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total, active, invited } = await listMemberships(req.ctx, req.params.organization, {
      page,
      status: readStatus(req.query),
      emails: readList(req.query, 'filter[email]'),
      q: readText(req.query, 'q'),
    })
    const { resources, included } = await membershipDocuments(req.ctx, rows, req.includes)
    const answer = listPage({ url: req.url, page }, { rows: resources, total }, included)
    return withMeta(answer, { 'status-counts': { total, active, invited } })
  })
  http.post('/organizations/:organization/organization-memberships', { body: createMembershipBody }, async (req) => {
    const membership = await createMembership(req.ctx, req.params.organization, req.body.data)
    // The public API always sends the user along with a new membership.
    const { resource, included } = await membershipDocument(req.ctx, membership, new Set(['user']))
    return created(resource, included)
  })
  http.get('/organization-memberships', { include: OWN_MEMBERSHIP_INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listOwnMemberships(req.ctx, page)
    const { resources, included } = await membershipDocuments(req.ctx, rows, req.includes)
    return listPage({ url: req.url, page }, { rows: resources, total }, included)
  })
  http.get('/organization-memberships/:membershipId', { include: MEMBERSHIP_INCLUDES }, async (req) => {
    const membership = await requireMembership(req.ctx, req.params.membershipId)
    const { resource, included } = await membershipDocument(req.ctx, membership, req.includes)
    return ok(resource, included)
  })
  http.delete('/organization-memberships/:membershipId', async (req) => {
    await deleteMembership(req.ctx, req.params.membershipId)
    return noContent()
  })
  http.get('/teams/:teamId/relationships/organization-memberships', async (req) => {
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
    const { resources } = await membershipDocuments(req.ctx, none ? [] : rows, new Set())
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
