import { type AuditTrailResponse, auditTrailResponse } from '@groundstate/contract/audit-trail'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Db, Page } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { paginationMeta } from '../../../http/pagination.ts'
import { time } from '../../../http/query.ts'
import { json } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

/** Collectors fetch whole days, so pages are larger than elsewhere. */
const TRAIL = {
  query: { since: time().describe('only events after this time') },
  pageSizes: { preset: 1000, max: 1000 },
  responses: { 200: auditTrailResponse },
}

export const auditTrailRoutes: Routes = (http) => {
  http.get(
    '/organization/audit-trail',
    { ...TRAIL, summary: "List the audit trail of the token's organization", access: 'organization-token' },
    async (req) => {
      const { actor, db } = req.ctx
      // As in the public API, only for an organization's own tokens; owners use the organization's name.
      if (actor.kind !== 'organization' && actor.kind !== 'audit-trails') throw notFound('audit trail')
      return auditTrail(db, { ...req.query, organizationId: actor.organizationId }, req.page())
    },
  )
  http.get(
    '/organizations/:organization/audit-trail',
    { ...TRAIL, summary: 'List the audit trail of an organization', access: { organization: 'audit-trail:read' } },
    async (req) => {
      const { id } = await requireOrganization(req.ctx, req.params.organization, 'audit-trail:read')
      return auditTrail(req.ctx.db, { ...req.query, organizationId: id }, req.page())
    },
  )
  // All organizations, and events of none, such as sign-ins.
  http.get(
    '/admin/audit-trail',
    { ...TRAIL, summary: 'List the audit trail of the server', access: 'site-admin' },
    async (req) => {
      checkSiteAdmin(req.ctx)
      return auditTrail(req.ctx.db, { ...req.query, organizationId: undefined }, req.page())
    },
  )
}

type AuditEvent = AuditTrailResponse['data'][number]

/** A page of the trail: plain JSON instead of JSON:API (public documentation, "Audit trails"). */
async function auditTrail(db: Db, query: store.TrailQuery, page: Page) {
  const { rows, total } = await store.listEvents(db, query, page)
  const meta = paginationMeta(page, total)
  return json({
    data: rows.map(auditEvent),
    pagination: {
      current_page: meta['current-page'],
      page_size: meta['page-size'],
      prev_page: meta['prev-page'],
      next_page: meta['next-page'],
      total_pages: meta['total-pages'],
      total_count: meta['total-count'],
    },
  } satisfies AuditTrailResponse)
}

function auditEvent(row: store.AuditEventRow): AuditEvent {
  return {
    id: row.id,
    version: '0',
    type: 'Resource',
    timestamp: row.created_at,
    auth: {
      accessor_id: row.actor_id,
      description: row.actor_name,
      type: row.actor_type === 'system' ? 'System' : 'Client',
      impersonator_id: null,
      organization_id: row.organization_id,
      // Not in the public API.
      token_id: row.token_id,
      address: row.address,
      user_agent: row.user_agent,
    },
    request: { id: row.request_id },
    resource: {
      id: row.resource_id,
      type: row.resource_type,
      action: row.action,
      meta: row.meta as AuditEvent['resource']['meta'],
    },
  }
}
