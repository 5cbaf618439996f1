import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireTeamProject } from './access.ts'
import { projectAccessAudit } from './audit.ts'
import * as store from './store.ts'

export async function deleteTeamProject(ctx: Ctx, id: string) {
  const { project, team_id: team } = await requireTeamProject(ctx, id, 'team-access:manage')
  const event = await projectAccessAudit(ctx, project, { teamId: team, action: 'remove_team', meta: { team } })
  await audited(ctx, event, (ctx) => store.deleteTeamProject(ctx.db, id))
}
