export function teamAudit({ id, name, organization_id: organizationId }: Audited, action: string, meta?: object) {
  return { organizationId, action, resource: { type: 'team', id }, meta: { name, ...meta } }
}

export type Audited = { id: string; name: string; organization_id: string }
