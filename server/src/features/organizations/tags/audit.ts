import type { AuditEvent } from '../../../audit/record.ts'
/** The thing whose tags change. */
type Tagged = {
  type: 'workspace' | 'project' | 'organization'
  id: string
  name: string
  organizationId: string
  /** Those with access to a project. */
  teams?: readonly string[]
}

/** The audit event of a change of tags. */
export function tagsAudit(
  { type, id, name, organizationId, teams = [] }: Tagged,
  action: 'add_tags' | 'replace_tags' | 'remove_tags',
  tags: readonly unknown[],
): AuditEvent {
  const notices: Record<Tagged['type'], AuditEvent['notices']> = {
    workspace: [{ type: 'workspaces', id, workspace: id }],
    project: [{ type: 'projects', id, teams }],
    // Its workspaces show them.
    organization: [],
  }
  return { organizationId, action, resource: { type, id }, meta: { name, tags }, notices: notices[type] }
}
