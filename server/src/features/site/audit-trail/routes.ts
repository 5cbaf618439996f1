import { type AuditTrailResponse, auditTrailResponse } from '@groundstate/contract/audit-trail'
import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page, Paged } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { paginationMeta } from '../../../http/pagination.ts'
import { time } from '../../../http/query.ts'
import { json } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { AuditEventRow } from './store.ts'
import * as store from './store.ts'

const TRAIL = {
  query: { since: time().describe('only what happened after this moment') },
  // Pages are larger than elsewhere, since collectors fetch whole days.
  pageSizes: { preset: 1000, max: 1000 },
  responses: { 200: auditTrailResponse },
}
const LIST_OWN = {
  ...TRAIL,
  summary: "List the audit trail of the token's organization",
  access: 'organization-token',
} as const
const LIST = {
  ...TRAIL,
  summary: 'List the audit trail of an organization',
  access: { organization: 'audit-trail:read' },
} as const
const LIST_SITE = { ...TRAIL, summary: 'List the audit trail of the server', access: 'site-admin' } as const

export const auditTrailRoutes: Routes = (http) => {
  http.get('/organization/audit-trail', LIST_OWN, async (req) => {
    const page = req.page()
    return json(auditTrailDocument(await listOwnAuditTrail(req.ctx, req.query, page), page))
  })

  http.get('/organizations/:organization/audit-trail', LIST, async (req) => {
    const page = req.page()
    return json(auditTrailDocument(await listAuditTrail(req.ctx, req.params.organization, req.query, page), page))
  })

  http.get('/admin/audit-trail', LIST_SITE, async (req) => {
    const page = req.page()
    return json(auditTrailDocument(await listSiteAuditTrail(req.ctx, req.query, page), page))
  })
}

type Query = { since: Date | undefined }

/**
 * The trail of the organization that the token belongs to: an organization's own token, or its token for audit trails.
 * As in the public API it does not exist for anyone else. Owners read the trail by the name of the organization.
 */
async function listOwnAuditTrail(ctx: Ctx, query: Query, page: Page) {
  const { actor } = ctx
  if (actor.kind !== 'organization' && actor.kind !== 'audit-trails') throw notFound('audit trail')
  return store.listEvents(ctx.db, { ...query, organizationId: actor.organizationId }, page)
}

async function listAuditTrail(ctx: Ctx, name: string, query: Query, page: Page) {
  const organization = await requireOrganization(ctx, name, 'audit-trail:read')
  return store.listEvents(ctx.db, { ...query, organizationId: organization.id }, page)
}

/** The trail of the whole server: all organizations, and what belongs to none, such as accounts and sign-ins. */
async function listSiteAuditTrail(ctx: Ctx, query: Query, page: Page) {
  checkSiteAdmin(ctx)
  return store.listEvents(ctx.db, { ...query, organizationId: undefined }, page)
}

type AuditEvent = AuditTrailResponse['data'][number]

/** A page of the trail. It is plain JSON and no JSON:API (public documentation, "Audit trails"). */
function auditTrailDocument({ rows, total }: Paged<AuditEventRow>, page: Page): AuditTrailResponse {
  const meta = paginationMeta(page, total)
  return {
    data: rows.map(auditEvent),
    pagination: {
      current_page: meta['current-page'],
      page_size: meta['page-size'],
      prev_page: meta['prev-page'],
      next_page: meta['next-page'],
      total_pages: meta['total-pages'],
      total_count: meta['total-count'],
    },
  }
}

function auditEvent(row: AuditEventRow): AuditEvent {
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
      // These are not in the public API.
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
