import type { AuditEvent } from '../../../audit/record.ts'
import type { Notice } from '../../../changes/feed.ts'

type NoticedTeam = { id: string; visibility: 'secret' | 'organization' }
export type Audited = NoticedTeam & { name: string; organization_id: string }

export function teamAudit(team: Audited, action: string, meta?: object): AuditEvent {
  const { id, name, organization_id: organizationId } = team
  return {
    organizationId,
    action,
    resource: { type: 'team', id },
    meta: { name, ...meta },
    notices: [teamNotice(team)],
    changesAccess: true,
  }
}

/** Members of the organization see a team unless it is secret; its own members see it always. */
export function teamNotice({ id, visibility }: NoticedTeam): Omit<Notice, 'organization'> {
  return { type: 'teams', id, ...(visibility === 'secret' && { teams: [id] }) }
}
