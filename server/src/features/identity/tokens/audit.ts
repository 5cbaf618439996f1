import type { AuditEvent } from '../../../audit/record.ts'
import type { NewToken } from './store.ts'

/** The audit event of a change of a token: which one and whose, but nothing of its text. */
export function tokenAudit(action: 'create' | 'destroy', token: NewToken): AuditEvent {
  const { id, kind, description, user_id: user, team_id: team, agent_pool_id: agent_pool } = token
  return {
    organizationId: token.organization_id ?? undefined,
    action,
    resource: { type: 'authentication_token', id },
    // The token of a team belongs to a service account, whose id tells nobody anything.
    meta: { kind, description, ...(kind === 'user' ? { user } : { team, agent_pool }) },
    notices: [],
    changesAccess: action === 'destroy',
  }
}
