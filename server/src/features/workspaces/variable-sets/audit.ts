/** The audit event of a change of a set. */
export function variableSetAudit(
  set: { id: string; organization_id: string; name: string },
  action: string,
  meta: object = {},
) {
  const { id, organization_id: organizationId, name } = set
  return { organizationId, action, resource: { type: 'variable_set', id }, meta: { name, ...meta } }
}
