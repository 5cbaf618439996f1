import type { Ctx } from '../../../app.ts'
import { AppError, notFound } from '../../../errors.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'
import type { TeamWorkspace } from './team-workspace.ts'

/** Throws `not-found` for an access that the actor may not see, `forbidden` when it sees it but may not change it. */
export async function requireTeamWorkspace(
  ctx: Ctx,
  id: string,
  permission: 'team-access:read' | 'team-access:manage' = 'team-access:read',
): Promise<TeamWorkspace> {
  const row = await store.findTeamWorkspace(ctx.db, id)
  if (!row) throw notFound('team access')
  const workspace = await notFoundAsTeamAccess(() => requireWorkspace(ctx, row.workspace_id, 'workspace:read'))
  if (!workspace.can.has('team-access:read')) {
    const { actor } = ctx
    const isOwn = actor.kind === 'user' && (await store.isTeamMember(ctx.db, row.team_id, actor.userId))
    if (!isOwn) throw notFound('team access')
  }
  if (permission === 'team-access:manage') await requireWorkspace(ctx, row.workspace_id, permission)
  return { ...row, workspace }
}

/** Runs a load. When it throws `not-found`, the error is about the team access that was requested. */
export async function notFoundAsTeamAccess<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not-found') throw notFound('team access')
    throw error
  }
}
