import type { AuditEvent } from '../../../audit/record.ts'

/** The audit event of a change of an account. Accounts belong to no organization. */
export function userAudit(
  action: string,
  user: { id: string; username: string },
  meta: Record<string, unknown> = {},
): AuditEvent {
  const { id, username } = user
  return {
    organizationId: undefined,
    action,
    resource: { type: 'user', id },
    meta: { username, ...meta },
    notices: [],
    changesAccess: ENDS_ACCESS.has(action),
  }
}

/** The actions after which the account has less access, or none. */
const ENDS_ACCESS = new Set(['update', 'suspend', 'destroy', 'sign_out'])
