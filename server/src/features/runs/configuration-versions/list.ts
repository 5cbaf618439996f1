import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

export async function listConfigurationVersions(ctx: Ctx, workspaceId: string, page: Page) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'runs:read')
  return store.listConfigurationVersions(ctx.db, { workspaceId: workspace.id, page })
}
