import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import type { Project } from '../../organizations/projects/project.ts'
import { listTeamIds } from '../../organizations/projects/store.ts'

type AccessChange = { teamId: string; action: string; meta: Record<string, string> }

/** The audit event of a change of what a team may do to the project. */
export async function projectAccessAudit(
  ctx: Ctx,
  { id, organization_id: organizationId }: Project,
  { teamId, action, meta }: AccessChange,
): Promise<AuditEvent> {
  return {
    organizationId,
    action,
    resource: { type: 'project', id },
    meta,
    notices: [{ type: 'projects', id, teams: [teamId, ...(await listTeamIds(ctx.db, id))] }],
    changesAccess: true,
  }
}
