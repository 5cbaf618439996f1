import type { AuditEvent } from '../../../audit/record.ts'

export type Audited = { id: string; name: string; organization_id: string }

/** `teams` are those with access to the project: they see it change. */
export function projectAudit(
  { id, name, organization_id: organizationId }: Audited,
  action: string,
  { teams, changes }: { teams: readonly string[]; changes?: object },
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'project', id },
    meta: changes === undefined ? { name } : { name, changes },
    notices: [{ type: 'projects', id, teams }],
  }
}
