/** Who did what to which resource, from where. */
export const up = `
-- No foreign keys: an event outlives what it is about.
create table audit_events (
  id text primary key,
  -- null for what concerns the whole site
  organization_id text,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  -- null for sessions and for the server itself
  token_id text,
  action text not null,
  resource_type text not null,
  resource_id text not null,
  meta jsonb,
  request_id text,
  address text,
  user_agent text,
  created_at timestamptz not null
);
create index audit_events_list_idx on audit_events (organization_id, created_at, id);
create index audit_events_age_idx on audit_events (created_at);
`
