import type { CreateTeamProject } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { requireTeam } from '../../organizations/teams/access.ts'
import { accessColumns, DEFAULTS } from './access-columns.ts'
import { projectAccessAudit } from './audit.ts'
import * as store from './store.ts'
import type { TeamProject } from './team-project.ts'

export async function createTeamProject(ctx: Ctx, input: CreateTeamProject): Promise<TeamProject> {
  const { attributes, relationships } = input
  const project = await requireProject(ctx, relationships.project.data.id, 'team-access:manage')
  const team = await requireTeam(ctx, relationships.team.data.id, 'team:read')
  if (team.organization_id !== project.organization_id) throw notFound('team')
  const columns = accessColumns(attributes.access, attributes, DEFAULTS)
  try {
    const row = await audited(
      ctx,
      await projectAccessAudit(ctx, project, {
        teamId: team.id,
        action: 'add_team',
        meta: { team: team.name, permissions: attributes.access },
      }),
      (ctx) =>
        store.insertTeamProject(ctx.db, {
          ...columns,
          id: ctx.newId('tprj'),
          team_id: team.id,
          project_id: project.id,
          access: attributes.access,
          created_at: ctx.now(),
        }),
    )
    return { ...row, project }
  } catch (error) {
    if (isUniqueViolation(error))
      throw invalid('Team has already been added to the project', '/data/relationships/team')
    throw error
  }
}
