import { workspaceIncludes } from '@groundstate/contract/includes'
import { documentOf } from '@groundstate/contract/responses'
import { lockBody, workspaceSchema } from '@groundstate/contract/workspaces'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { forceUnlockWorkspace, lockWorkspace, unlockWorkspace } from './lock.ts'
import { showWorkspace } from './show.ts'

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
