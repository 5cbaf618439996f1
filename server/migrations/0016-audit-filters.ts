/** Adds to earlier databases the indexes of the audit trail's filters. */
export const up = `
create index if not exists audit_events_actor_idx on audit_events (actor_id, created_at);
create index if not exists audit_events_resource_idx on audit_events (resource_id, created_at);
create index if not exists audit_events_type_idx on audit_events (resource_type, created_at);
create index if not exists audit_events_action_idx on audit_events (action, created_at);
create index if not exists audit_events_organization_actor_idx on audit_events (organization_id, actor_id, created_at);
create index if not exists audit_events_organization_type_idx on audit_events (organization_id, resource_type, created_at);
create index if not exists audit_events_organization_action_idx on audit_events (organization_id, action, created_at);
`
