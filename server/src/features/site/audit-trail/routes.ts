import { json } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readPage } from '../../../http/pagination.ts'
import { readTime } from '../../../http/query.ts'
import { auditTrailDocument } from './document.ts'
import { listAuditTrail, listOwnAuditTrail, listSiteAuditTrail } from './service.ts'

/** Pages are larger than elsewhere, as collectors ask for the whole of a day. */
const SIZES = { preset: 1000, max: 1000 }

export const auditTrailRoutes: Routes = (http) => {
  http.get('/organization/audit-trail', async (req) => {
    const page = readPage(req.query, SIZES)
    return json(
      auditTrailDocument(await listOwnAuditTrail(req.ctx, { since: readTime(req.query, 'since') }, page), page),
    )
  })
  http.get('/organizations/:organization/audit-trail', async (req) => {
    const page = readPage(req.query, SIZES)
    const query = { since: readTime(req.query, 'since') }
    return json(auditTrailDocument(await listAuditTrail(req.ctx, req.params.organization, query, page), page))
  })
  http.get('/admin/audit-trail', { access: 'site-admin' }, async (req) => {
    const page = readPage(req.query, SIZES)
    return json(
      auditTrailDocument(await listSiteAuditTrail(req.ctx, { since: readTime(req.query, 'since') }, page), page),
    )
  })
}
