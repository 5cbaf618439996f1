import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import * as store from './store.ts'
import type { TeamProject } from './team-project.ts'

/**
 * What teams may do to a project and the workspaces in it. An actor that administers it sees all of it; a member sees
 * what its own teams may do (public documentation, "Project team access").
 */
export async function listTeamProjects(
  ctx: Ctx,
  { projectId, teamId, page }: { projectId: string; teamId: string | undefined; page: Page | undefined },
): Promise<Paged<TeamProject>> {
  const project = await requireProject(ctx, projectId, 'project:read')
  const seesAll = project.can.has('team-access:read')
  if (!seesAll && ctx.actor.kind !== 'user') return { rows: [], total: 0 }
  const ofUser = seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId
  const { rows, total } = await store.listTeamProjects(ctx.db, { projectId, teamId, ofUser }, page)
  return { rows: rows.map((row) => ({ ...row, project })), total }
}
