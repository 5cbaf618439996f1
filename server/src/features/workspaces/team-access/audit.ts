import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { listTeamIds } from '../../organizations/projects/store.ts'
import type { GrantKind } from './grant-kind.ts'
import type { GrantSubject } from './grant.ts'

type GrantChange = { subject: GrantSubject; teamId: string; action: string; meta: Record<string, string> }

/** The audit event of a change of what a team may do to a workspace or project. */
export async function grantAudit(
  ctx: Ctx,
  { noun }: GrantKind,
  { subject: { id, organizationId }, teamId, action, meta }: GrantChange,
): Promise<AuditEvent> {
  return {
    organizationId,
    action,
    resource: { type: noun, id },
    meta,
    notices: [
      noun === 'workspace'
        ? { type: 'workspaces', id, workspace: id }
        : { type: 'projects', id, teams: [teamId, ...(await listTeamIds(ctx.db, id))] },
    ],
    changesAccess: true,
  }
}
