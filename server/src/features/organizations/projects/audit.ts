export function projectAudit({ id, name, organization_id: organizationId }: Audited, action: string, changes?: object) {
  const meta = changes === undefined ? { name } : { name, changes }
  return { organizationId, action, resource: { type: 'project', id }, meta }
}

export type Audited = { id: string; name: string; organization_id: string }
