import { workspaceIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createWorkspaceBody, updateWorkspaceBody, workspaceSchema } from '@groundstate/contract/workspaces'
import type { Routes } from '../../../http/http.ts'
import { sortBy } from '../../../http/query.ts'
import { created, listPage, noContent, ok } from '../../../http/responses.ts'
import { requireWorkspaceBy } from './access.ts'
import { createWorkspace } from './create.ts'
import { WORKSPACE_FILTER_QUERY, workspaceFilter } from './filter-query.ts'
import { SORTS } from './list-store.ts'
import { listWorkspaces } from './list.ts'
import { moveWorkspaces } from './move.ts'
import { showWorkspace, showWorkspaces } from './show.ts'
import { updateWorkspace } from './update.ts'

/** A workspace is addressed by its id, or by its name in an organization. */
const PATHS = ['/workspaces/:id', '/organizations/:organization/workspaces/:name'] as const

const CREATE = {
  summary: 'Create a workspace',
  access: { project: 'workspaces:create' },
  audit: 'workspace create',
  responses: { 201: documentOf(workspaceSchema) },
  body: createWorkspaceBody,
  include: workspaceIncludes,
} as const

const LIST = {
  summary: 'List the workspaces of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(workspaceSchema) },
  include: workspaceIncludes,
  query: {
    ...WORKSPACE_FILTER_QUERY,
    sort: sortBy(SORTS, 'name').describe('by `name` unless given; `-` reverses the order'),
  },
} as const

const SHOW = {
  summary: 'Show a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: documentOf(workspaceSchema) },
  include: workspaceIncludes,
} as const

const UPDATE = {
  summary: 'Update a workspace',
  access: { workspace: 'workspace:update' },
  audit: 'workspace update',
  responses: { 200: documentOf(workspaceSchema) },
  body: updateWorkspaceBody,
  include: workspaceIncludes,
} as const

const MOVE = {
  summary: 'Move workspaces to a project',
  access: { project: 'workspaces:create', workspace: 'workspace:move' },
  audit: 'workspace update',
  responses: { 204: null },
  body: identifiersBody('workspaces'),
} as const

export const workspaceRoutes: Routes = (http) => {
  http.post('/organizations/:organization/workspaces', CREATE, async (req) => {
    const workspace = await createWorkspace(req.ctx, req.params.organization, readInput(req))
    return created(await showWorkspace(req.ctx, workspace))
  })
  http.get('/organizations/:organization/workspaces', LIST, async (req) => {
    const page = req.page()
    const { rows, total } = await listWorkspaces(req.ctx, req.params.organization, {
      page,
      sort: req.query.sort,
      filter: workspaceFilter(req.query),
    })
    return listPage({ url: req.url, page }, { rows: await showWorkspaces(req.ctx, rows), total })
  })
  for (const path of PATHS) {
    http.get(path, SHOW, async (req) => {
      const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
      return ok(await showWorkspace(req.ctx, workspace))
    })
    http.patch(path, UPDATE, async (req) => {
      const workspace = await updateWorkspace(req.ctx, req.params, readInput(req))
      return ok(await showWorkspace(req.ctx, workspace))
    })
  }
  http.post('/projects/:id/relationships/workspaces', MOVE, async (req) => {
    await moveWorkspaces(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
}

function readInput<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}
