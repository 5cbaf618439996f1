import { auditTrailResponse } from '@groundstate/contract/audit-trail'
import type { Routes } from '../../../http/http.ts'
import { time } from '../../../http/query.ts'
import { json } from '../../../http/responses.ts'
import { auditTrailDocument } from './document.ts'
import { listAuditTrail, listOwnAuditTrail, listSiteAuditTrail } from './list.ts'

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
