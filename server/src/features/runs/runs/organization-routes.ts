import { runIncludes } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import {
  type OrganizationCapacityResource,
  organizationCapacitySchema,
} from '@groundstate/contract/organization-overviews'
import { documentOf, pageOf, uncountedPageOf } from '@groundstate/contract/responses'
import { type QueuedRunResource, queuedRunSchema, runSchema } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import type { Routes } from '../../../http/http.ts'
import { type ApiResponse, listPage, ok } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { FILTER_QUERY, QUEUE_QUERY } from './filter.ts'
import { listQueue, readCapacity } from './list-queue.ts'
import { listOrganizationRuns } from './list.ts'
import { runResource } from './resource.ts'

async function requireReadable(ctx: Ctx, { organization }: { organization: string }) {
  return requireOrganization(ctx, organization, 'organization:read')
}

/** The runs of a whole organization. */
export const organizationRunRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/runs',
    {
      summary: 'List the runs of an organization',
      access: { organization: 'organization:read' },
      authorise: requireReadable,
      query: FILTER_QUERY,
      include: runIncludes,
      responses: { 200: uncountedPageOf(runSchema) },
    },
    async (req) => {
      const page = req.page()
      const { rows, isLast } = await listOrganizationRuns(req.ctx, req.subject, { page, query: req.query })
      return uncountedPage(
        { url: req.url, page, isLast },
        rows.map((run) => runResource(req.ctx, run)),
      )
    },
  )
  http.get(
    '/organizations/:organization/runs/queue',
    {
      summary: 'List the unfinished runs of an organization in the order of their creation',
      access: { organization: 'organization:read' },
      authorise: requireReadable,
      query: QUEUE_QUERY,
      include: runIncludes,
      responses: { 200: pageOf(queuedRunSchema) },
    },
    async (req) => {
      const page = req.page()
      const { rows, total } = await listQueue(req.ctx, req.subject, { page, query: req.query })
      const positioned = rows.map(({ run, position }): QueuedRunResource => {
        const resource = runResource(req.ctx, run)
        return { ...resource, attributes: { ...resource.attributes, 'position-in-queue': position } }
      })
      return listPage({ url: req.url, page }, { rows: positioned, total })
    },
  )
  http.get(
    '/organizations/:organization/capacity',
    {
      summary: 'Count the unfinished runs of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: documentOf(organizationCapacitySchema) },
    },
    async (req) => {
      const { name, pending, running, limit } = await readCapacity(req.ctx, req.params.organization)
      const capacity: OrganizationCapacityResource = {
        id: name,
        type: 'organization-capacity',
        attributes: { pending, running, 'run-concurrency': limit },
      }
      return ok(capacity)
    },
  )
}

type UncountedList = { url: string; page: Page; isLast: boolean }

/** A list over a whole organization is not counted (public documentation: `pagination-without-totals`). */
function uncountedPage({ url, page, isLast }: UncountedList, resources: Resource[]): ApiResponse {
  const [path = '', search] = url.split('?', 2)
  const link = (number: number) => {
    const params = new URLSearchParams(search)
    params.set('page[number]', String(number))
    params.set('page[size]', String(page.size))
    return `${path}?${params.toString()}`
  }
  const previous = page.number > 1 ? page.number - 1 : null
  const next = isLast ? null : page.number + 1
  return {
    status: 200,
    document: {
      data: resources,
      links: {
        self: link(page.number),
        first: link(1),
        prev: previous === null ? null : link(previous),
        next: next === null ? null : link(next),
      },
      meta: {
        pagination: { 'current-page': page.number, 'page-size': page.size, 'prev-page': previous, 'next-page': next },
      },
    },
  }
}
