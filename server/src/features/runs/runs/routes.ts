import { runIncludes, shownRunIncludes } from '@groundstate/contract/includes'
import { policyCheckSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { createRunBody, runSchema } from '@groundstate/contract/runs'
import type { Routes } from '../../../http/http.ts'
import { requiredText } from '../../../http/query.ts'
import { created, listAll, listPage, ok } from '../../../http/responses.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { clientSource } from '../configuration-versions/client-source.ts'
import { requireRun } from './access.ts'
import { createRun } from './create.ts'
import { FILTER_QUERY } from './filter.ts'
import { listNamedWorkspaceRuns, listWorkspaceRuns } from './list.ts'
import { runResource } from './resource.ts'

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
      const page = req.page()
      const { workspace_id: workspaceId, organization_name: organization, ...query } = req.query
      const { rows, total } = await listNamedWorkspaceRuns(req.ctx, { workspaceId, organization }, { page, query })
      return listPage({ url: req.url, page }, { rows: rows.map((run) => runResource(req.ctx, run)), total })
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
      const page = req.page()
      const { rows, total } = await listWorkspaceRuns(req.ctx, req.subject, { page, query: req.query })
      return listPage({ url: req.url, page }, { rows: rows.map((run) => runResource(req.ctx, run)), total })
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

/** Both command lines count as Terraform. OpenTofu names itself beside that. */
function clientEngine(source: ReturnType<typeof clientSource>, userAgent: string | undefined) {
  if (userAgent?.startsWith('OpenTofu/')) return 'tofu'
  return source === 'tfe-api' ? undefined : 'terraform'
}
