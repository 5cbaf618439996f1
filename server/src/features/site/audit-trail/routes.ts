import { Readable } from 'node:stream'
import { type AuditTrailResponse, auditActorsResponse, auditTrailResponse } from '@groundstate/contract/audit-trail'
import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Db, Page } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { paginationMeta } from '../../../http/pagination.ts'
import { type Query, text, time } from '../../../http/query.ts'
import { type ApiResponse, binary, bytes, json } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { type AuditEvent, EXPORT_FORMATS } from './export.ts'
import * as store from './store.ts'

const FILTER = {
  since: time().describe('only events after this time'),
  until: time().describe('only events before this time'),
  'filter[id]': text().describe('only the event with this id'),
  'filter[actor][id]': text().describe('only events of the user or token owner with this id'),
  'filter[resource][type]': text().describe('only events of resources of this type, such as workspace'),
  'filter[resource][id]': text().describe('only events of the resource with this id'),
  'filter[action]': text().describe('only events with this action, such as destroy'),
  q: text().describe('only events with this text in actor, resource, details, address, or request id'),
}

/** Collectors fetch whole days, so pages are larger than elsewhere. */
const TRAIL = {
  query: FILTER,
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
      return auditTrail(db, filterOf(req.query, actor.organizationId), req.page())
    },
  )
  http.get(
    '/organizations/:organization/audit-trail',
    { ...TRAIL, summary: 'List the audit trail of an organization', access: { organization: 'audit-trail:read' } },
    async (req) => {
      const { id } = await requireOrganization(req.ctx, req.params.organization, 'audit-trail:read')
      return auditTrail(req.ctx.db, filterOf(req.query, id), req.page())
    },
  )
  // All organizations, and events of none, such as sign-ins.
  http.get(
    '/admin/audit-trail',
    { ...TRAIL, summary: 'List the audit trail of the server', access: 'site-admin' },
    async (req) => {
      checkSiteAdmin(req.ctx)
      return auditTrail(req.ctx.db, filterOf(req.query, undefined), req.page())
    },
  )
  const actors = {
    query: { q: text().describe('part of the name') },
    responses: { 200: auditActorsResponse },
  }
  http.get(
    '/organizations/:organization/audit-trail/actors',
    {
      ...actors,
      summary: 'Search the actors of the audit trail of an organization',
      access: { organization: 'audit-trail:read' },
    },
    async (req) => {
      const { id } = await requireOrganization(req.ctx, req.params.organization, 'audit-trail:read')
      return json({ actors: await store.listActors(req.ctx.db, id, req.query.q) })
    },
  )
  http.get(
    '/admin/audit-trail/actors',
    { ...actors, summary: 'Search the actors of the audit trail of the server', access: 'site-admin' },
    async (req) => {
      checkSiteAdmin(req.ctx)
      return json({ actors: await store.listActors(req.ctx.db, undefined, req.query.q) })
    },
  )
  for (const extension of ['jsonl', 'csv'] as const) {
    const { name, contentType } = EXPORT_FORMATS[extension]
    const options = { query: FILTER, responses: { 200: binary(contentType) } }
    http.get(
      `/organizations/:organization/audit-trail.${extension}`,
      {
        ...options,
        summary: `Export the audit trail of an organization as ${name}`,
        access: { organization: 'audit-trail:read' },
      },
      async (req) => {
        const { id, name } = await requireOrganization(req.ctx, req.params.organization, 'audit-trail:read')
        return exported(req.ctx, extension, { filter: filterOf(req.query, id), name })
      },
    )
    http.get(
      `/admin/audit-trail.${extension}`,
      { ...options, summary: `Export the audit trail of the server as ${name}`, access: 'site-admin' },
      async (req) => {
        checkSiteAdmin(req.ctx)
        return exported(req.ctx, extension, { filter: filterOf(req.query, undefined), name: 'server' })
      },
    )
  }
}

function filterOf(query: Query<typeof FILTER>, organizationId: string | undefined): store.TrailFilter {
  return {
    organizationId,
    since: query.since,
    until: query.until,
    id: query['filter[id]'],
    actorId: query['filter[actor][id]'],
    resourceType: query['filter[resource][type]'],
    resourceId: query['filter[resource][id]'],
    action: query['filter[action]'],
    q: query.q,
  }
}

type Export = { filter: store.TrailFilter; name: string }

/** The whole trail as a file, streamed in batches. */
function exported(ctx: Ctx, extension: keyof typeof EXPORT_FORMATS, { filter, name }: Export): ApiResponse {
  const { contentType, head, lines } = EXPORT_FORMATS[extension]
  async function* parts() {
    yield head
    for await (const rows of store.eachBatch(ctx.db, filter)) yield lines(await auditEvents(ctx.db, rows))
  }
  const file = `audit-trail-${name}-${ctx.now().toISOString().slice(0, 10)}.${extension}`
  return {
    ...bytes(Readable.from(parts(), { objectMode: false }), contentType),
    headers: { 'cache-control': 'no-store', 'content-disposition': `attachment; filename="${file}"` },
  }
}

/** A page of the trail: plain JSON instead of JSON:API (public documentation, "Audit trails"). */
async function auditTrail(db: Db, filter: store.TrailFilter, page: Page) {
  const { rows, total } = await store.listEvents(db, filter, page)
  const meta = paginationMeta(page, total)
  return json({
    data: await auditEvents(db, rows),
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

async function auditEvents(db: Db, rows: readonly store.AuditEventRow[]): Promise<AuditEvent[]> {
  const tokens = await store.findTokens(db, new Set(rows.flatMap(({ token_id: id }) => id ?? [])))
  return rows.map((row) => auditEvent(row, tokens))
}

function auditEvent(row: store.AuditEventRow, tokens: store.AuditTokens): AuditEvent {
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
      token: (row.token_id !== null && tokens.get(row.token_id)) || null,
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
