import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'
import type { TeamWorkspace } from './team-workspace.ts'

/**
 * What teams may do to a workspace. An actor that administers it sees all of it; a member sees what its own
 * teams may do (public documentation, "Team access").
 */
export async function listTeamWorkspaces(
  ctx: Ctx,
  { workspaceId, teamId, page }: { workspaceId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<TeamWorkspace>> {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  const seesAll = workspace.can.has('team-access:read')
  if (!seesAll && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listTeamWorkspaces(ctx.db, { workspaceId, teamId, ofUser }, page)
  return { rows: rows.map((row) => ({ ...row, workspace })), total }
}
