import { createWorkspaceBody, lockBody, updateWorkspaceBody } from '@groundstate/contract/workspaces'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { createWorkspace } from './create.ts'
import { deleteWorkspace, safeDeleteWorkspace } from '../../runs/workspace-deletion/delete.ts'
import { readList, readSort, readText } from '../../../http/query.ts'
import { shownWorkspace, workspaceResources } from './show.ts'
import { listWorkspaces } from './list.ts'
import { forceUnlockWorkspace, lockWorkspace, unlockWorkspace } from './lock.ts'
import { readTagged } from './tag-query.ts'
import { requireWorkspaceBy } from './access.ts'
import { SORTS } from './list-store.ts'
import { updateWorkspace } from './update.ts'

const BY_NAME = '/organizations/:organization/workspaces/:name'
const BY_ID = '/workspaces/:id'

const RUN_INCLUDES = [
  'plan',
  'apply',
  'created_by',
  'configuration_version',
  'configuration_version.ingress_attributes',
]

const INCLUDES = [
  'organization',
  'project',
  'current_run',
  'latest_run',
  'current_configuration_version',
  'current_state_version',
  'agent_pool',
  'locked_by',
  'outputs',
  'vars',
  'effective_tag_bindings',
  // A workspace has neither: the first comes from version control, the second from health assessments.
  'readme',
  'current_assessment_result',
  ...RUN_INCLUDES.flatMap((name) => [`current_run.${name}`, `latest_run.${name}`]),
  'current_configuration_version.ingress_attributes',
  // An attribute, which the state version has anyway.
  'current_state_version.resources_processed',
]

export const workspaceRoutes: Routes = (http) => {
  http.post(
    '/organizations/:organization/workspaces',
    { body: createWorkspaceBody, include: INCLUDES },
    async (req) => {
      const workspace = await createWorkspace(req.ctx, req.params.organization, sentBy(req))
      return created(await shownWorkspace(req.ctx, workspace))
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
    return listPage({ url: req.url, page }, { rows: await workspaceResources(req.ctx, rows), total })
  })
  http.get(BY_NAME, { include: INCLUDES }, async (req) => {
    const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
    return ok(await shownWorkspace(req.ctx, workspace))
  })
  http.get(BY_ID, { include: INCLUDES }, async (req) => {
    const workspace = await requireWorkspaceBy(req.ctx, req.params, 'workspace:read')
    return ok(await shownWorkspace(req.ctx, workspace))
  })
  http.patch(BY_NAME, { body: updateWorkspaceBody, include: INCLUDES }, async (req) => {
    const workspace = await updateWorkspace(req.ctx, req.params, sentBy(req))
    return ok(await shownWorkspace(req.ctx, workspace))
  })
  http.patch(BY_ID, { body: updateWorkspaceBody, include: INCLUDES }, async (req) => {
    const workspace = await updateWorkspace(req.ctx, req.params, sentBy(req))
    return ok(await shownWorkspace(req.ctx, workspace))
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
    return ok(await shownWorkspace(req.ctx, workspace))
  })
  http.post(`${BY_ID}/actions/unlock`, { include: INCLUDES }, async (req) => {
    const workspace = await unlockWorkspace(req.ctx, req.params.id)
    return ok(await shownWorkspace(req.ctx, workspace))
  })
  http.post(`${BY_ID}/actions/force-unlock`, { include: INCLUDES }, async (req) => {
    const workspace = await forceUnlockWorkspace(req.ctx, req.params.id)
    return ok(await shownWorkspace(req.ctx, workspace))
  })
}

function sentBy<T>({ body, header }: { body: { data: T }; header: (name: string) => string | undefined }) {
  return { input: body.data, clientEngine: header('terraform-version') }
}
