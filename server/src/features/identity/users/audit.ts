/** The audit event of a change of an account. Accounts belong to no organization. */
export function userAudit(action: string, user: { id: string; username: string }, meta: Record<string, unknown> = {}) {
  const { id, username } = user
  return { organizationId: undefined, action, resource: { type: 'user', id }, meta: { username, ...meta } }
}
