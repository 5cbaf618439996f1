import { workspaceIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { assignSshKeyBody } from '@groundstate/contract/ssh-keys'
import { createWorkspaceBody, lockBody, updateWorkspaceBody, workspaceSchema } from '@groundstate/contract/workspaces'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { sortBy } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { type Workspace, listReadableWorkspaces, requireShownWorkspace } from './access.ts'
import { WORKSPACE_FILTER_QUERY, workspaceFilter } from './filter-store.ts'
import { SORTS } from './list-store.ts'
import { listWorkspaces } from './list.ts'
import { forceUnlockWorkspace, lockWorkspace, unlockWorkspace } from './lock.ts'
import { workspaceResource } from './resource.ts'
import * as service from './service.ts'

const COLLECTION = '/organizations/:organization/workspaces'
/** A workspace is addressed by its id, or by its name in an organization. */
const PATHS = ['/workspaces/:id', `${COLLECTION}/:name`] as const
const ONE = { responses: { 200: documentOf(workspaceSchema) }, include: workspaceIncludes }

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
    sort: sortBy(SORTS, 'name').describe('`name` by default; `-` reverses the order'),
  },
} as const

const SHOW = { ...ONE, summary: 'Show a workspace', access: { workspace: 'workspace:read' } } as const

const UPDATE = {
  ...ONE,
  summary: 'Update a workspace',
  access: { workspace: 'workspace:update' },
  audit: 'workspace update',
  body: updateWorkspaceBody,
} as const

const ASSIGN_SSH_KEY = {
  ...ONE,
  summary: 'Assign an SSH key to a workspace, or remove it',
  access: { workspace: 'workspace:update' },
  audit: 'workspace update',
  body: assignSshKeyBody,
} as const

const MOVE = {
  summary: 'Move workspaces to a project',
  access: { project: 'workspaces:create', workspace: 'workspace:move' },
  audit: 'workspace update',
  responses: { 204: null },
  body: identifiersBody('workspaces'),
} as const

export const workspaceRoutes: Routes = (http) => {
  http.post(COLLECTION, CREATE, async (req) => {
    const workspace = await service.createWorkspace(req.ctx, req.params.organization, readInput(req))
    return created(await service.showWorkspace(req.ctx, workspace))
  })
  http.get(COLLECTION, LIST, async (req) => {
    const { rows, total } = await listWorkspaces(req.ctx, req.params.organization, {
      page: req.page(),
      sort: req.query.sort,
      filter: workspaceFilter(req.query),
    })
    return req.list({ rows: await service.showWorkspaces(req.ctx, rows), total })
  })
  for (const path of PATHS) {
    http.get(path, SHOW, async (req) => shown(req.ctx, await requireShownWorkspace(req.ctx, req.params)))
    http.patch(path, UPDATE, async (req) =>
      shown(req.ctx, await service.updateWorkspace(req.ctx, req.params, readInput(req))),
    )
  }
  http.patch('/workspaces/:id/relationships/ssh-key', ASSIGN_SSH_KEY, async (req) =>
    shown(req.ctx, await service.assignSshKey(req.ctx, req.params.id, req.body.data.attributes.id || null)),
  )
  http.post('/projects/:id/relationships/workspaces', MOVE, async (req) =>
    service.moveWorkspaces(req.ctx, req.params.id, req.body.data),
  )
}

async function shown(ctx: Ctx, workspace: Workspace) {
  return ok(await service.showWorkspace(ctx, workspace))
}

function readInput<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}

const LOCK = { ...ONE, summary: 'Lock a workspace', access: { workspace: 'lock' }, audit: 'workspace lock' } as const
const UNLOCK = {
  ...ONE,
  summary: 'Unlock a workspace',
  access: { workspace: 'lock' },
  audit: 'workspace unlock',
} as const
const FORCE_UNLOCK = {
  ...ONE,
  summary: 'Force-unlock a workspace',
  access: { workspace: 'force-unlock' },
  audit: 'workspace force_unlock',
} as const

export const workspaceLockRoutes: Routes = (http) => {
  const actions = '/workspaces/:id/actions'
  http.post(`${actions}/lock`, { ...LOCK, body: lockBody }, async (req) =>
    shown(req.ctx, await lockWorkspace(req.ctx, req.params.id, req.body)),
  )
  http.post(`${actions}/unlock`, UNLOCK, async (req) => shown(req.ctx, await unlockWorkspace(req.ctx, req.params.id)))
  http.post(`${actions}/force-unlock`, FORCE_UNLOCK, async (req) =>
    shown(req.ctx, await forceUnlockWorkspace(req.ctx, req.params.id)),
  )
}

const CONSUMER_LIST = {
  summary: 'List the remote state consumers of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: pageOf(workspaceSchema) },
} as const
const CONSUMER_CHANGE = {
  access: { workspace: 'workspace:update' },
  body: identifiersBody('workspaces'),
  responses: { 204: null },
} as const
const CONSUMER_CHANGES = [
  { method: 'post', change: 'add', summary: 'Add remote state consumers to a workspace' },
  { method: 'patch', change: 'replace', summary: 'Replace the remote state consumers of a workspace' },
  { method: 'delete', change: 'remove', summary: 'Remove remote state consumers from a workspace' },
] as const

export const consumerRoutes: Routes = (http) => {
  const path = '/workspaces/:id/relationships/remote-state-consumers'
  http.get(path, CONSUMER_LIST, async (req) =>
    req.list(await service.listRemoteStateConsumers(req.ctx, req.params.id, req.page()), (row) =>
      workspaceResource(row),
    ),
  )
  for (const { method, change, summary } of CONSUMER_CHANGES) {
    const audit = `workspace ${change}_remote_state_consumers` as const
    http[method](path, { ...CONSUMER_CHANGE, summary, audit }, async (req) =>
      service.changeRemoteStateConsumers(req.ctx, req.params.id, { change, consumers: req.body.data }),
    )
  }
}

export const workspaceLoaders: readonly Loader[] = [
  {
    type: 'workspaces',
    load: async (ctx, ids) => (await listReadableWorkspaces(ctx, ids)).map((workspace) => workspaceResource(workspace)),
  },
]
