import type { AuditTrailResponse } from '@groundstate/contract/audit-trail'
import type { Page, Paged } from '../../../db/page.ts'
import { paginationMeta } from '../../../http/pagination.ts'
import type { AuditEventRow } from './store.ts'

type AuditEvent = AuditTrailResponse['data'][number]

/** A page of the trail. It is plain JSON and no JSON:API (public documentation, "Audit trails"). */
export function auditTrailDocument({ rows, total }: Paged<AuditEventRow>, page: Page): AuditTrailResponse {
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
