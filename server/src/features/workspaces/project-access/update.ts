import type { UpdateTeamProject } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { accessColumns } from './access-columns.ts'
import { requireTeamProject } from './access.ts'
import { projectAccessAudit } from './audit.ts'
import * as store from './store.ts'
import type { TeamProject } from './team-project.ts'

export async function updateTeamProject(ctx: Ctx, id: string, input: UpdateTeamProject): Promise<TeamProject> {
  const current = await requireTeamProject(ctx, id, 'team-access:manage')
  const access = input.access ?? current.access
  const columns = accessColumns(access, input, current)
  return transact(ctx, async (ctx) => {
    const row = await store.updateTeamProject(ctx.db, id, { ...columns, access })
    if (!row) throw notFound('team access')
    await recordAudit(
      ctx,
      await projectAccessAudit(ctx, current.project, {
        teamId: row.team_id,
        action: 'update_team_permissions',
        meta: { team: row.team_id, permissions: access },
      }),
    )
    return { ...row, project: current.project }
  })
}
