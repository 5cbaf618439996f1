import { configurationVersionIncludes, runIncludes, shownRunIncludes } from '@groundstate/contract/includes'
import { organizationCapacitySchema } from '@groundstate/contract/organization-overviews'
import { policyCheckSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, uncountedPageOf, wholeListOf } from '@groundstate/contract/responses'
import { createRunBody, queuedRunSchema, runActionBody, runSchema } from '@groundstate/contract/runs'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { requiredText } from '../../../http/query.ts'
import { accepted, created, listAll, ok, uncountedPage } from '../../../http/responses.ts'
import type { RouteAccess, RouteAudit } from '../../../http/route-access.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { configurationVersionResource } from '../configuration-versions/resource.ts'
import { ARCHIVE, VERSION, archiveResponse } from '../configuration-versions/routes.ts'
import { openArchive } from '../configuration-versions/service.ts'
import { clientSource } from '../configuration-versions/urls.ts'
import * as runAccess from './access.ts'
import { applyRun, cancelRun, discardRun, forceCancelRun, forceExecuteRun } from './actions.ts'
import { FILTER_QUERY, QUEUE_QUERY } from './filter.ts'
import { runResource } from './resource.ts'
import { createRun, listOrganizationRuns, listQueue, listWorkspaceRuns, openConfiguration } from './service.ts'
import { countQueue } from './store.ts'

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
        // The `cloud` block renders JSON logs; `backend "remote"` prints log lines unchanged, so they must be plain text.
        structured: source === 'terraform+cloud',
        source,
        engineProduct: clientEngine(source, req.header('user-agent')),
      })
      return created(runResource(req.ctx, await runAccess.requireRun(req.ctx, id, 'runs:read')))
    },
  )
  http.get(
    '/runs/:runId',
    {
      summary: 'Show a run',
      access: { workspace: 'runs:read' },
      include: shownRunIncludes,
      responses: { 200: documentOf(runSchema) },
    },
    async (req) => ok(runResource(req.ctx, await runAccess.requireRun(req.ctx, req.params.runId, 'runs:read'))),
  )

  http.get(
    '/runs',
    {
      summary: 'List the runs of a workspace by name',
      access: { workspace: 'runs:read' },
      query: {
        workspace_id: requiredText().describe('the id of the workspace'),
        organization_name: requiredText().describe('the organization of the workspace'),
        ...FILTER_QUERY,
      },
      include: runIncludes,
      responses: { 200: pageOf(runSchema) },
    },
    async (req) => {
      const { workspace_id: workspaceId, organization_name: organization, ...query } = req.query
      const workspace = await requireWorkspace(req.ctx, workspaceId, 'runs:read')
      if (workspace.organization_name.toLowerCase() !== organization.toLowerCase()) throw notFound('workspace')
      const runs = await listWorkspaceRuns(req.ctx, workspace, { page: req.page(), query })
      return req.list(runs, (run) => runResource(req.ctx, run))
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
      responses: { 200: pageOf(runSchema) },
    },
    async (req) => {
      const runs = await listWorkspaceRuns(req.ctx, req.subject, { page: req.page(), query: req.query })
      return req.list(runs, (run) => runResource(req.ctx, run))
    },
  )

  // Policies are not supported, but clients list their checks.
  http.get(
    '/runs/:runId/policy-checks',
    {
      summary: 'List the policy checks of a run',
      access: { workspace: 'runs:read' },
      responses: { 200: wholeListOf(policyCheckSchema) },
    },
    async (req) => {
      await runAccess.requireRun(req.ctx, req.params.runId, 'runs:read')
      return listAll([])
    },
  )
}

/** Header values of both CLIs: OpenTofu also identifies as Terraform. */
function clientEngine(source: ReturnType<typeof clientSource>, userAgent: string | undefined) {
  if (userAgent?.startsWith('OpenTofu/')) return 'tofu'
  return source === 'tfe-api' ? undefined : 'terraform'
}

type Action = {
  summary: string
  audit: RouteAudit
  access: RouteAccess
  load: (ctx: Ctx, runId: string) => Promise<runAccess.Run>
  perform: (ctx: Ctx, run: runAccess.Run, comment: string | undefined) => Promise<void>
}

const BY_APPLIER: Pick<Action, 'access' | 'load'> = {
  access: { workspace: 'runs:apply' },
  load: async (ctx, runId) => runAccess.requireRun(ctx, runId, 'runs:apply'),
}
const BY_PLANNER_OR_APPLIER: Pick<Action, 'access' | 'load'> = {
  // Plan-only runs need the first permission, all others the second.
  access: [{ workspace: 'runs:plan' }, { workspace: 'runs:apply' }],
  load: runAccess.requireRunToEnd,
}

const ACTIONS: Readonly<Record<string, Action>> = {
  apply: { summary: 'Apply the plan of a run', audit: 'run apply', ...BY_APPLIER, perform: applyRun },
  discard: { summary: 'Discard a run', audit: 'run discard', ...BY_PLANNER_OR_APPLIER, perform: discardRun },
  cancel: { summary: 'Cancel a run', audit: 'run cancel', ...BY_PLANNER_OR_APPLIER, perform: cancelRun },
  'force-cancel': {
    summary: 'Force-cancel a run that did not stop after a cancel',
    audit: 'run force_cancel',
    access: { workspace: ['runs:apply', 'force-unlock'] },
    load: runAccess.requireRunToForceCancel,
    perform: forceCancelRun,
  },
  'force-execute': {
    summary: 'Make a pending run the next one of its workspace',
    audit: ['run cancel', 'run discard', 'run force_execute'],
    ...BY_APPLIER,
    perform: forceExecuteRun,
  },
}

export const runActionRoutes: Routes = (http) => {
  for (const [name, { summary, audit, access, load, perform }] of Object.entries(ACTIONS)) {
    http.post(
      `/runs/:runId/actions/${name}`,
      {
        summary,
        audit,
        access,
        authorise: async (ctx, { runId }) => load(ctx, runId),
        body: runActionBody,
        responses: { 202: null },
      },
      async (req) => {
        await perform(req.ctx, req.subject, req.body)
        return accepted()
      },
    )
  }
}

/** The configuration version of a run, and archives for those who may read the runs that use them. */
export const runConfigurationRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/configuration-version',
    {
      summary: 'Show the configuration version of a run',
      access: { workspace: 'runs:read' },
      include: configurationVersionIncludes,
      responses: { 200: VERSION },
    },
    async (req) =>
      ok(configurationVersionResource(await runAccess.requireConfigurationOfRun(req.ctx, req.params.runId))),
  )
  http.get(
    '/runs/:runId/configuration-version/download',
    {
      summary: 'Download the configuration of a run',
      access: [{ workspace: 'runs:read' }, 'task'],
      responses: { 200: ARCHIVE },
    },
    async (req) => {
      const version = await runAccess.requireConfigurationOfRun(req.ctx, req.params.runId)
      return archiveResponse(await openArchive(req.ctx, version))
    },
  )
  http.get(
    '/configuration-versions/:id/download',
    { summary: 'Download a configuration', access: [{ workspace: 'runs:read' }, 'task'], responses: { 200: ARCHIVE } },
    async (req) => archiveResponse(await openConfiguration(req.ctx, req.params.id)),
  )
}

async function requireReadable(ctx: Ctx, { organization }: { organization: string }) {
  return requireOrganization(ctx, organization, 'organization:read')
}

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
      const runs = rows.map((run) => runResource(req.ctx, run))
      return uncountedPage({ url: req.url, page, isLast }, runs)
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
      return req.list({ rows, total }, ({ run, position }) => {
        const resource = runResource(req.ctx, run)
        return { ...resource, attributes: { ...resource.attributes, 'position-in-queue': position } }
      })
    },
  )
  http.get(
    '/organizations/:organization/capacity',
    {
      summary: 'Count the unfinished runs of an organization',
      access: { organization: 'organization:read' },
      query: { 'filter[agent_pool_names]': FILTER_QUERY['filter[agent_pool_names]'] },
      responses: { 200: documentOf(organizationCapacitySchema) },
    },
    async (req) => {
      const { id, name } = await requireReadable(req.ctx, req.params)
      const pools = req.query['filter[agent_pool_names]']?.map((pool) => pool.toLowerCase())
      const { pending, queued, running, limit } = await countQueue(req.ctx.db, id, pools)
      const attributes = { pending, queued, running, 'run-concurrency': limit }
      return ok({ id: name, type: 'organization-capacity', attributes })
    },
  )
}

export const runLoaders: readonly Loader[] = [
  {
    type: 'runs',
    load: async (ctx, ids) => (await runAccess.listReadableRuns(ctx, ids)).map((run) => runResource(ctx, run)),
  },
  {
    of: 'configuration-versions',
    relation: 'run',
    load: async (ctx, versions) => {
      const ids = versions.map(({ id }) => id)
      const runs = await runAccess.listRunsOfConfigurations(ctx, ids)
      return new Map(runs.map((run) => [run.configuration_version_id, runResource(ctx, run)]))
    },
  },
]
