import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { notFoundAsTeamAccess } from '../team-access/access.ts'
import { isTeamMember } from '../team-access/store.ts'
import * as store from './store.ts'
import type { TeamProject } from './team-project.ts'

/** Throws `not-found` for an access that the actor may not see, `forbidden` when it sees it but may not change it. */
export async function requireTeamProject(
  ctx: Ctx,
  id: string,
  permission: 'team-access:read' | 'team-access:manage' = 'team-access:read',
): Promise<TeamProject> {
  const row = await store.findTeamProject(ctx.db, id)
  if (!row) throw notFound('team access')
  const project = await notFoundAsTeamAccess(() => requireProject(ctx, row.project_id, 'project:read'))
  if (!project.can.has('team-access:read')) {
    const { actor } = ctx
    const isOwn = actor.kind === 'user' && (await isTeamMember(ctx.db, row.team_id, actor.userId))
    if (!isOwn) throw notFound('team access')
  }
  if (permission === 'team-access:manage') await requireProject(ctx, row.project_id, permission)
  return { ...row, project }
}
