import type { UpdateTeamWorkspace } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { accessColumns } from './access-columns.ts'
import { requireTeamWorkspace } from './access.ts'
import { teamAccessAudit } from './audit.ts'
import * as store from './store.ts'
import type { TeamWorkspace } from './team-workspace.ts'

export async function updateTeamWorkspace(ctx: Ctx, id: string, input: UpdateTeamWorkspace): Promise<TeamWorkspace> {
  const current = await requireTeamWorkspace(ctx, id, 'team-access:manage')
  const access = input.access ?? current.access
  const columns = accessColumns(access, input, current)
  return transact(ctx, async (ctx) => {
    const row = await store.updateTeamWorkspace(ctx.db, id, { ...columns, access })
    if (!row) throw notFound('team access')
    await recordAudit(
      ctx,
      teamAccessAudit(current.workspace, 'update_team_permissions', { team: row.team_id, permissions: access }),
    )
    return { ...row, workspace: current.workspace }
  })
}
