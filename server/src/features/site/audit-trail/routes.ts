import { auditTrailAnswer } from '@groundstate/contract/audit-trail'
import { z } from 'zod'
import { json } from '../../../http/answers.ts'
import type { Request, Routes } from '../../../http/http.ts'
import { readPage } from '../../../http/pagination.ts'
import { readTime } from '../../../http/query.ts'
import { auditTrailDocument } from './document.ts'
import { listAuditTrail, listOwnAuditTrail, listSiteAuditTrail } from './list.ts'

/** Pages are larger than elsewhere, since collectors fetch whole days. */
const SIZES = { preset: 1000, max: 1000 }

const TRAIL = {
  query: {
    since: z.iso.datetime({ offset: true }).optional().describe('only what happened after this moment'),
    'page[number]': z.int().min(1).optional().describe('which page, from 1'),
    'page[size]': z.int().min(1).optional().describe('events on a page, 1000 by default and at most'),
  },
  answers: { 200: auditTrailAnswer },
}
const LIST_OWN = { ...TRAIL, summary: "List the audit trail of the token's organization" }
const LIST = { ...TRAIL, summary: 'List the audit trail of an organization' }
const LIST_SITE = { ...TRAIL, summary: 'List the audit trail of the server', access: 'site-admin' } as const

export const auditTrailRoutes: Routes = (http) => {
  http.get('/organization/audit-trail', LIST_OWN, async (req) => {
    const { query, page } = readQuery(req)
    return json(auditTrailDocument(await listOwnAuditTrail(req.ctx, query, page), page))
  })

  http.get('/organizations/:organization/audit-trail', LIST, async (req) => {
    const { query, page } = readQuery(req)
    return json(auditTrailDocument(await listAuditTrail(req.ctx, req.params.organization, query, page), page))
  })

  http.get('/admin/audit-trail', LIST_SITE, async (req) => {
    const { query, page } = readQuery(req)
    return json(auditTrailDocument(await listSiteAuditTrail(req.ctx, query, page), page))
  })
}

function readQuery({ query }: Pick<Request<string, unknown>, 'query'>) {
  return { page: readPage(query, SIZES), query: { since: readTime(query, 'since') } }
}
