import type { Resource } from '@groundstate/contract/json-api'
import type { OrganizationCapacityResource } from '@groundstate/contract/organization-capacity'
import { createRunBody, type QueuedRunResource, runActionBody } from '@groundstate/contract/runs'
import { accepted, created, listAll, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { applyRun, cancelRun, discardRun, forceCancelRun, forceExecuteRun } from './actions.ts'
import { runResource } from './resource.ts'
import {
  listNamedWorkspaceRuns,
  listOrganizationRuns,
  listQueue,
  listWorkspaceRuns,
  readCapacity,
  requireRun,
} from './service.ts'
import { createRun } from './create.ts'
import type { Page } from '../../../db/page.ts'

const INCLUDES = [
  'plan',
  'apply',
  'created_by',
  'confirmed_by',
  'canceled_by',
  'cost_estimate',
  'configuration_version',
  'configuration_version.ingress_attributes',
  'workspace',
  'task_stages',
  'tf_policy_evaluations',
] as const

export const runRoutes: Routes = (http) => {
  http.post('/runs', { body: createRunBody }, async (req) => {
    const { attributes, relationships } = req.body.data
    const id = await createRun(req.ctx, relationships.workspace.data.id, {
      input: attributes,
      configurationVersionId: relationships['configuration-version']?.data.id,
      // The `cloud` block names itself; `backend "remote"` prints log lines as they are, so they must be text.
      structured: req.header('x-terraform-integration') === 'cloud',
    })
    return created(runResource(req.ctx, await requireRun(req.ctx, id, 'runs:read')))
  })
  http.get('/runs/:runId', { include: INCLUDES }, async (req) => {
    return ok(runResource(req.ctx, await requireRun(req.ctx, req.params.runId, 'runs:read')))
  })

  http.get('/runs', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listNamedWorkspaceRuns(req.ctx, { page, query: req.query })
    return listPage({ url: req.url, page }, { rows: rows.map((run) => runResource(req.ctx, run)), total })
  })
  http.get('/workspaces/:workspaceId/runs', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listWorkspaceRuns(req.ctx, req.params.workspaceId, { page, query: req.query })
    return listPage({ url: req.url, page }, { rows: rows.map((run) => runResource(req.ctx, run)), total })
  })
  http.get('/organizations/:organization/runs', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, isLast } = await listOrganizationRuns(req.ctx, req.params.organization, { page, query: req.query })
    return pageWithoutTotals(
      { url: req.url, page, isLast },
      rows.map((run) => runResource(req.ctx, run)),
    )
  })
  http.get('/organizations/:organization/runs/queue', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listQueue(req.ctx, req.params.organization, page)
    const positioned = rows.map(({ run, position }): QueuedRunResource => {
      const resource = runResource(req.ctx, run)
      return { ...resource, attributes: { ...resource.attributes, 'position-in-queue': position } }
    })
    return listPage({ url: req.url, page }, { rows: positioned, total })
  })
  http.get('/organizations/:organization/capacity', async (req) => {
    const { name, pending, running } = await readCapacity(req.ctx, req.params.organization)
    const capacity: OrganizationCapacityResource = {
      id: name,
      type: 'organization-capacity',
      attributes: { pending, running },
    }
    return ok(capacity)
  })

  http.post('/runs/:runId/actions/apply', { body: runActionBody }, async (req) => {
    await applyRun(req.ctx, req.params.runId, req.body)
    return accepted()
  })
  http.post('/runs/:runId/actions/discard', { body: runActionBody }, async (req) => {
    await discardRun(req.ctx, req.params.runId, req.body)
    return accepted()
  })
  http.post('/runs/:runId/actions/cancel', { body: runActionBody }, async (req) => {
    await cancelRun(req.ctx, req.params.runId, req.body)
    return accepted()
  })
  http.post('/runs/:runId/actions/force-cancel', { body: runActionBody }, async (req) => {
    await forceCancelRun(req.ctx, req.params.runId, req.body)
    return accepted()
  })
  http.post('/runs/:runId/actions/force-execute', { body: runActionBody }, async (req) => {
    await forceExecuteRun(req.ctx, req.params.runId, req.body)
    return accepted()
  })

  // Policies and costs are not evaluated here: clients look whether there are any.
  http.get('/runs/:runId/policy-checks', async (req) => {
    await requireRun(req.ctx, req.params.runId, 'runs:read')
    return listAll([])
  })
}

/** A list over a whole organization is not counted (public documentation: `pagination-without-totals`). */
function pageWithoutTotals({ url, page, isLast }: { url: string; page: Page; isLast: boolean }, resources: Resource[]) {
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
