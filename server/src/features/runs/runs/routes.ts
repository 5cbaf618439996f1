import { runIncludes, shownRunIncludes } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import {
  type OrganizationCapacityResource,
  organizationCapacitySchema,
} from '@groundstate/contract/organization-overviews'
import { policyCheckSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, uncountedPageOf, wholeListOf } from '@groundstate/contract/responses'
import {
  type QueuedRunResource,
  createRunBody,
  queuedRunSchema,
  runActionBody,
  runSchema,
} from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/db.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { requiredText } from '../../../http/query.ts'
import { type ApiResponse, accepted, created, listAll, ok } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { clientSource } from '../configuration-versions/urls.ts'
import {
  listReadableRuns,
  listRunsOfConfigurations,
  requireRun,
  requireRunToEnd,
  requireRunToForceCancel,
} from './access.ts'
import { applyRun, cancelRun, discardRun, forceCancelRun, forceExecuteRun } from './actions.ts'
import { FILTER_QUERY, QUEUE_QUERY } from './filter.ts'
import { runResource } from './resource.ts'
import {
  createRun,
  listNamedWorkspaceRuns,
  listOrganizationRuns,
  listQueue,
  listWorkspaceRuns,
  readCapacity,
} from './service.ts'

const RUN = { 200: documentOf(runSchema) }
const PAGE = { 200: pageOf(runSchema) }

const NAMED_QUERY = {
  workspace_id: requiredText().describe('the id of the workspace'),
  organization_name: requiredText().describe('the organization of the workspace'),
  ...FILTER_QUERY,
}

export const runRoutes: Routes = (http) => {
  http.post(
    '/runs',
    {
      summary: 'Create a run',
      access: { workspace: 'runs:plan' },
      audit: 'run create',
      body: createRunBody,
      responses: { 201: documentOf(runSchema) },
    },
    async (req) => {
      const { attributes, relationships } = req.body.data
      const source = clientSource((name) => req.header(name))
      const id = await createRun(req.ctx, relationships.workspace.data.id, {
        input: attributes,
        configurationVersionId: relationships['configuration-version']?.data.id,
        // The `cloud` block names itself. `backend "remote"` prints log lines as they are, so they must be plain text.
        structured: source === 'terraform+cloud',
        source,
        engineProduct: clientEngine(source, req.header('user-agent')),
      })
      return created(runResource(req.ctx, await requireRun(req.ctx, id, 'runs:read')))
    },
  )
  http.get(
    '/runs/:runId',
    { summary: 'Show a run', access: { workspace: 'runs:read' }, include: shownRunIncludes, responses: RUN },
    async (req) => {
      return ok(runResource(req.ctx, await requireRun(req.ctx, req.params.runId, 'runs:read')))
    },
  )

  http.get(
    '/runs',
    {
      summary: 'List the runs of a workspace by name',
      access: { workspace: 'runs:read' },
      query: NAMED_QUERY,
      include: runIncludes,
      responses: PAGE,
    },
    async (req) => {
      const { workspace_id: workspaceId, organization_name: organization, ...query } = req.query
      const { rows, total } = await listNamedWorkspaceRuns(
        req.ctx,
        { workspaceId, organization },
        { page: req.page(), query },
      )
      return req.list({ rows, total }, (run) => runResource(req.ctx, run))
    },
  )
  http.get(
    '/workspaces/:workspaceId/runs',
    {
      summary: 'List the runs of a workspace',
      access: { workspace: 'runs:read' },
      authorise: async (ctx, { workspaceId }) => requireWorkspace(ctx, workspaceId, 'runs:read'),
      query: FILTER_QUERY,
      include: runIncludes,
      responses: PAGE,
    },
    async (req) => {
      return req.list(await listWorkspaceRuns(req.ctx, req.subject, { page: req.page(), query: req.query }), (run) =>
        runResource(req.ctx, run),
      )
    },
  )

  // Policies are not evaluated here, but clients ask for their checks.
  http.get(
    '/runs/:runId/policy-checks',
    {
      summary: 'List the policy checks of a run',
      access: { workspace: 'runs:read' },
      responses: { 200: wholeListOf(policyCheckSchema) },
    },
    async (req) => {
      await requireRun(req.ctx, req.params.runId, 'runs:read')
      return listAll([])
    },
  )
}

/** Header values of both CLIs: OpenTofu also identifies as Terraform. */
function clientEngine(source: ReturnType<typeof clientSource>, userAgent: string | undefined) {
  if (userAgent?.startsWith('OpenTofu/')) return 'tofu'
  return source === 'tfe-api' ? undefined : 'terraform'
}

type RunParams = { runId: string }

const ACTION = { body: runActionBody, responses: { 202: null } } as const
const BY_APPLIER = {
  ...ACTION,
  access: { workspace: 'runs:apply' },
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRun(ctx, runId, 'runs:apply'),
} as const
const TO_END = {
  ...ACTION,
  // The first for a run that only plans, the second for every other one.
  access: [{ workspace: 'runs:plan' }, { workspace: 'runs:apply' }],
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRunToEnd(ctx, runId),
} as const
const TO_FORCE_CANCEL = {
  ...ACTION,
  access: { workspace: ['runs:apply', 'force-unlock'] },
  authorise: async (ctx: Ctx, { runId }: RunParams) => requireRunToForceCancel(ctx, runId),
} as const

/** Actions of users on runs. */
export const runActionRoutes: Routes = (http) => {
  http.post(
    '/runs/:runId/actions/apply',
    { summary: 'Apply the plan of a run', audit: 'run apply', ...BY_APPLIER },
    async (req) => {
      await applyRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post(
    '/runs/:runId/actions/discard',
    { summary: 'Discard a run', audit: 'run discard', ...TO_END },
    async (req) => {
      await discardRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post('/runs/:runId/actions/cancel', { summary: 'Cancel a run', audit: 'run cancel', ...TO_END }, async (req) => {
    await cancelRun(req.ctx, req.subject, req.body)
    return accepted()
  })
  http.post(
    '/runs/:runId/actions/force-cancel',
    {
      summary: 'Cancel a run by force, on which a cancel had no effect',
      audit: 'run force_cancel',
      ...TO_FORCE_CANCEL,
    },
    async (req) => {
      await forceCancelRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
  http.post(
    '/runs/:runId/actions/force-execute',
    {
      summary: 'Make a pending run the next one of its workspace',
      audit: ['run cancel', 'run discard', 'run force_execute'],
      ...BY_APPLIER,
    },
    async (req) => {
      await forceExecuteRun(req.ctx, req.subject, req.body)
      return accepted()
    },
  )
}

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
      const { rows, total } = await listQueue(req.ctx, req.subject, { page: req.page(), query: req.query })
      const positioned = rows.map(({ run, position }): QueuedRunResource => {
        const resource = runResource(req.ctx, run)
        return { ...resource, attributes: { ...resource.attributes, 'position-in-queue': position } }
      })
      return req.list({ rows: positioned, total })
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

export const runLoaders: readonly Loader[] = [
  { type: 'runs', load: async (ctx, ids) => (await listReadableRuns(ctx, ids)).map((run) => runResource(ctx, run)) },
  {
    of: 'configuration-versions',
    relation: 'run',
    load: async (ctx, versions) => {
      const ids = versions.map(({ id }) => id)
      const runs = await listRunsOfConfigurations(ctx, ids)
      return new Map(runs.map((run) => [run.configuration_version_id, runResource(ctx, run)]))
    },
  },
]
