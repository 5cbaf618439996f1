import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requireTeamWorkspace } from './access.ts'
import { teamAccessAudit } from './audit.ts'
import * as store from './store.ts'

export async function deleteTeamWorkspace(ctx: Ctx, id: string) {
  const { workspace, team_id: team } = await requireTeamWorkspace(ctx, id, 'team-access:manage')
  await audited(ctx, teamAccessAudit(workspace, 'remove_team', { team }), (ctx) =>
    store.deleteTeamWorkspace(ctx.db, id),
  )
}
