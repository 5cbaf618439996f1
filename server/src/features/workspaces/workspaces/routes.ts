import { createWorkspaceBody, lockBody, updateWorkspaceBody } from '@groundstate/contract/workspaces'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { createWorkspace, updateWorkspace } from './create.ts'
import { deleteWorkspace, safeDeleteWorkspace } from '../../runs/workspace-deletion/delete.ts'
import { readList, readSort, readText } from '../../../http/query.ts'
import { INCLUDES, workspaceDocument, workspaceDocuments } from './includes.ts'
import { listWorkspaces } from './list.ts'
import { forceUnlockWorkspace, lockWorkspace, unlockWorkspace } from './lock.ts'
import { readTagged } from './tag-query.ts'
import { requireWorkspaceBy } from './service.ts'
import { SORTS } from './list-store.ts'

const BY_NAME = '/organizations/:organization/workspaces/:name'
const BY_ID = '/workspaces/:id'

export const workspaceRoutes: Routes = (http) => {
  http.post(
    '/organizations/:organization/workspaces',
    { body: createWorkspaceBody, include: INCLUDES },
    async (req) => {
      const workspace = await createWorkspace(req.ctx, req.params.organization, sentBy(req))
      const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
      return created(resource, included)
    },
  )
  http.get('/organizations/:organization/workspaces', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listWorkspaces(req.ctx, req.params.organization, {
      page,
      sort: readSort(req.query, SORTS, 'name'),
      filter: {
        name: readText(req.query, 'search[name]'),
        wildcardName: readText(req.query, 'search[wildcard-name]'),
        projectId: readText(req.query, 'filter[project][id]'),
        tagged: readTagged(req.query),
        excludedTags: readList(req.query, 'search[exclude-tags]'),
        runStatuses: readList(req.query, 'filter[current-run][status]'),
      },
    })
    const { resources, included } = await workspaceDocuments(req.ctx, rows, req.includes)
    return listPage({ url: req.url, page }, { rows: resources, total }, included)
  })
  http.get(BY_NAME, { include: INCLUDES }, async (req) => {
    const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.get(BY_ID, { include: INCLUDES }, async (req) => {
    const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.patch(BY_NAME, { body: updateWorkspaceBody, include: INCLUDES }, async (req) => {
    const workspace = await updateWorkspace(req.ctx, req.params, sentBy(req))
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.patch(BY_ID, { body: updateWorkspaceBody, include: INCLUDES }, async (req) => {
    const workspace = await updateWorkspace(req.ctx, req.params, sentBy(req))
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.delete(BY_NAME, async (req) => {
    await deleteWorkspace(req.ctx, req.params)
    return noContent()
  })
  http.delete(BY_ID, async (req) => {
    await deleteWorkspace(req.ctx, req.params)
    return noContent()
  })
  http.post(`${BY_NAME}/actions/safe-delete`, async (req) => {
    await safeDeleteWorkspace(req.ctx, req.params)
    return noContent()
  })
  http.post(`${BY_ID}/actions/safe-delete`, async (req) => {
    await safeDeleteWorkspace(req.ctx, req.params)
    return noContent()
  })
  http.post(`${BY_ID}/actions/lock`, { body: lockBody, include: INCLUDES }, async (req) => {
    const workspace = await lockWorkspace(req.ctx, req.params.id, req.body)
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.post(`${BY_ID}/actions/unlock`, { include: INCLUDES }, async (req) => {
    const workspace = await unlockWorkspace(req.ctx, req.params.id)
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
  http.post(`${BY_ID}/actions/force-unlock`, { include: INCLUDES }, async (req) => {
    const workspace = await forceUnlockWorkspace(req.ctx, req.params.id)
    const { resource, included } = await workspaceDocument(req.ctx, workspace, req.includes)
    return ok(resource, included)
  })
}

function sentBy<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}
