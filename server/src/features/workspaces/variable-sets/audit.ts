import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type NoticedSet, setNotice } from '../variables/audit.ts'
import { listTeamIds } from './store.ts'

type Audited = { id: string; organization_id: string; project_id: string | null; name: string }

/** The audit event of a change of a set. */
export async function variableSetAudit(ctx: Ctx, set: Audited, action: string, meta: object = {}): Promise<AuditEvent> {
  const { id, organization_id: organizationId, name } = set
  return {
    organizationId,
    action,
    resource: { type: 'variable_set', id },
    meta: { name, ...meta },
    notices: [setNotice(await noticedSet(ctx, set))],
  }
}

/** The set with the teams that see it, where grants on its project decide that. */
export async function noticedSet(
  ctx: Ctx,
  { id, project_id: projectId }: Pick<Audited, 'id' | 'project_id'>,
): Promise<NoticedSet> {
  return { id, teams: projectId === null ? undefined : await listTeamIds(ctx.db, projectId) }
}
