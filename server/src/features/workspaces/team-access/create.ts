import type { CreateTeamWorkspace } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireTeam } from '../../organizations/teams/access.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import { accessColumns, DEFAULTS } from './access-columns.ts'
import { teamAccessAudit } from './audit.ts'
import * as store from './store.ts'
import type { TeamWorkspace } from './team-workspace.ts'

export async function createTeamWorkspace(ctx: Ctx, input: CreateTeamWorkspace): Promise<TeamWorkspace> {
  const { attributes, relationships } = input
  const workspace = await requireWorkspace(ctx, relationships.workspace.data.id, 'team-access:manage')
  const team = await requireTeam(ctx, relationships.team.data.id, 'team:read')
  if (team.organization_id !== workspace.organization_id) throw notFound('team')
  const columns = accessColumns(attributes.access, attributes, DEFAULTS)
  try {
    const row = await audited(
      ctx,
      teamAccessAudit(workspace, 'add_team', { team: team.name, permissions: attributes.access }),
      (ctx) =>
        store.insertTeamWorkspace(ctx.db, {
          ...columns,
          id: ctx.newId('tws'),
          team_id: team.id,
          workspace_id: workspace.id,
          access: attributes.access,
          created_at: ctx.now(),
        }),
    )
    return { ...row, workspace }
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid('Team has already been added to the workspace', '/data/relationships/team')
    throw error
  }
}
