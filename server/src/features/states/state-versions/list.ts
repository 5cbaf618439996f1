import type { listedStatus } from '@groundstate/contract/state-versions'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspaceByName } from '../../workspaces/workspaces/access.ts'
import { type DisplayContext, displayContextOf } from './resource.ts'
import * as store from './store.ts'

type StateVersionFilter = { organization: string; workspace: string; status: z.infer<typeof listedStatus> | undefined }

/** The versions of one workspace, the newest first. */
export async function listStateVersions(
  ctx: Ctx,
  { organization, workspace: name, status }: StateVersionFilter,
  page: Page,
): Promise<Paged<store.PresentedRow> & { display: DisplayContext }> {
  const workspace = await requireWorkspaceByName(ctx, organization, name, 'workspace:read')
  if (!workspace.can.has('state-versions:read')) throw notFound('workspace')
  const [rows, total] = await Promise.all([
    store.listStateVersions(ctx.db, workspace.id, { page, status }),
    status === undefined ? workspace.state_version_count : store.countStateVersions(ctx.db, workspace.id, status),
  ])
  return { rows, total, display: displayContextOf(workspace) }
}
