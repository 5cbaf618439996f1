import { workspaceIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createWorkspaceBody, lockBody, updateWorkspaceBody, workspaceSchema } from '@groundstate/contract/workspaces'
import type { Routes } from '../../../http/http.ts'
import { sortBy } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireWorkspaceBy } from './access.ts'
import { WORKSPACE_FILTER_QUERY, workspaceFilter } from './filter-store.ts'
import { SORTS } from './list-store.ts'
import { listWorkspaces } from './list.ts'
import { forceUnlockWorkspace, lockWorkspace, unlockWorkspace } from './lock.ts'
import { workspaceResource } from './resource.ts'
import {
  addRemoteStateConsumers,
  createWorkspace,
  listRemoteStateConsumers,
  moveWorkspaces,
  removeRemoteStateConsumers,
  replaceRemoteStateConsumers,
  showWorkspace,
  showWorkspaces,
  updateWorkspace,
} from './service.ts'

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
    const { rows, total } = await listWorkspaces(req.ctx, req.params.organization, {
      page: req.page(),
      sort: req.query.sort,
      filter: workspaceFilter(req.query),
    })
    return req.list({ rows: await showWorkspaces(req.ctx, rows), total })
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
  http.post('/projects/:id/relationships/workspaces', MOVE, async (req) =>
    moveWorkspaces(req.ctx, req.params.id, req.body.data),
  )
}

function readInput<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}

const ACTION = { responses: { 200: documentOf(workspaceSchema) }, include: workspaceIncludes }

export const workspaceLockRoutes: Routes = (http) => {
  const lock = {
    ...ACTION,
    summary: 'Lock a workspace',
    access: { workspace: 'lock' },
    audit: 'workspace lock',
    body: lockBody,
  } as const
  http.post('/workspaces/:id/actions/lock', lock, async (req) => {
    const workspace = await lockWorkspace(req.ctx, req.params.id, req.body)
    return ok(await showWorkspace(req.ctx, workspace))
  })
  http.post(
    '/workspaces/:id/actions/unlock',
    { ...ACTION, summary: 'Unlock a workspace', access: { workspace: 'lock' }, audit: 'workspace unlock' },
    async (req) => {
      const workspace = await unlockWorkspace(req.ctx, req.params.id)
      return ok(await showWorkspace(req.ctx, workspace))
    },
  )
  http.post(
    '/workspaces/:id/actions/force-unlock',
    {
      ...ACTION,
      summary: 'Force-unlock a workspace',
      access: { workspace: 'force-unlock' },
      audit: 'workspace force_unlock',
    },
    async (req) => {
      const workspace = await forceUnlockWorkspace(req.ctx, req.params.id)
      return ok(await showWorkspace(req.ctx, workspace))
    },
  )
}

const PATH = '/workspaces/:id/relationships/remote-state-consumers'
const CONSUMER_LIST = {
  summary: 'List the remote state consumers of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: pageOf(workspaceSchema) },
} as const
const CHANGE = {
  access: { workspace: 'workspace:update' },
  body: identifiersBody('workspaces'),
  responses: { 204: null },
} as const

export const consumerRoutes: Routes = (http) => {
  http.get(PATH, CONSUMER_LIST, async (req) => {
    return req.list(await listRemoteStateConsumers(req.ctx, req.params.id, req.page()), (row) => workspaceResource(row))
  })
  http.post(
    PATH,
    { ...CHANGE, summary: 'Add remote state consumers to a workspace', audit: 'workspace add_remote_state_consumers' },
    async (req) => addRemoteStateConsumers(req.ctx, req.params.id, req.body.data),
  )
  http.patch(
    PATH,
    {
      ...CHANGE,
      summary: 'Replace the remote state consumers of a workspace',
      audit: 'workspace replace_remote_state_consumers',
    },
    async (req) => replaceRemoteStateConsumers(req.ctx, req.params.id, req.body.data),
  )
  http.delete(
    PATH,
    {
      ...CHANGE,
      summary: 'Remove remote state consumers from a workspace',
      audit: 'workspace remove_remote_state_consumers',
    },
    async (req) => removeRemoteStateConsumers(req.ctx, req.params.id, req.body.data),
  )
}
