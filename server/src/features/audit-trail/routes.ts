import { invalidParameter } from '../../errors.ts'
import { json } from '../../http/answers.ts'
import type { Routes } from '../../http/http.ts'
import { readPage } from '../../http/pagination.ts'
import { readText } from '../../http/query.ts'
import { auditTrailDocument } from './document.ts'
import { listAuditTrail, listOwnAuditTrail, listSiteAuditTrail } from './service.ts'

/** Pages are larger than elsewhere, as collectors ask for the whole of a day. */
const SIZES = { preset: 1000, max: 1000 }

export const auditTrailRoutes: Routes = (http) => {
  http.get('/organization/audit-trail', async (req) => {
    const page = readPage(req.query, SIZES)
    return json(auditTrailDocument(await listOwnAuditTrail(req.ctx, { since: readSince(req.query) }, page), page))
  })
  http.get('/organizations/:organization/audit-trail', async (req) => {
    const page = readPage(req.query, SIZES)
    const query = { since: readSince(req.query) }
    return json(auditTrailDocument(await listAuditTrail(req.ctx, req.params.organization, query, page), page))
  })
  http.get('/admin/audit-trail', { access: 'site-admin' }, async (req) => {
    const page = readPage(req.query, SIZES)
    return json(auditTrailDocument(await listSiteAuditTrail(req.ctx, { since: readSince(req.query) }, page), page))
  })
}

function readSince(query: Record<string, unknown>) {
  const text = readText(query, 'since')
  if (text === undefined) return undefined
  const moment = /^\d{4}-\d\d-\d\dT/.test(text) ? new Date(text) : undefined
  if (moment && !Number.isNaN(moment.getTime())) return moment
  throw invalidParameter(
    `since is ${JSON.stringify(text)}, it must be a time such as 2030-01-31T12:00:00.000Z`,
    'since',
  )
}
