/** The audit trail, the installation, and the sweeps of blobs. */
export const up = `
-- Audit events. No foreign keys, since an event outlives its subject.
create table audit_events (
  id text primary key,
  -- null for the whole site
  organization_id text,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  -- null for sessions and the server
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
-- Filters of an organization's trail and of the server's. Few events have the same time, so the order needs no id.
create index audit_events_actor_idx on audit_events (actor_id, created_at);
create index audit_events_resource_idx on audit_events (resource_id, created_at);
create index audit_events_type_idx on audit_events (resource_type, created_at);
create index audit_events_action_idx on audit_events (action, created_at);
create index audit_events_organization_actor_idx on audit_events (organization_id, actor_id, created_at);
create index audit_events_organization_type_idx on audit_events (organization_id, resource_type, created_at);
create index audit_events_organization_action_idx on audit_events (organization_id, action, created_at);

-- Number of events of each past day, for totals. A job adds the days, so that writing an event
-- changes no row here. Events of a day are written within an hour after it.
create table audit_days (
  -- empty for all events of the server
  organization_id text not null,
  -- midnight, UTC
  starts_at timestamptz not null,
  events integer not null check (events >= 0),
  primary key (organization_id, starts_at)
);

-- One row, which prevents a server with another secret or blob store from using the database.
create table installation (
  only_row boolean primary key default true check (only_row),
  secret_mark text not null,
  blob_store_id text,
  -- for users: location of the store at the last start
  blob_store_place text
);

-- Positions of interrupted sweeps of blobs.
create table blob_sweeps (
  prefix text primary key,
  cursor text not null,
  updated_at timestamptz not null
);
`
