/** The audit trail, facts about the installation, and the sweeps of blobs. */
export const up = `
-- Who did what to which resource, from where. No foreign keys: an event outlives what it is about.
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

-- The number of events of each day that is over, so that the totals of trails read few rows. A job adds the days: writing an event
-- writes nothing here. Events of a day are written within the hour after it.
create table audit_days (
  -- that of the events, or an empty text for all events of the server
  organization_id text not null,
  -- midnight, UTC
  starts_at timestamptz not null,
  events integer not null check (events >= 0),
  primary key (organization_id, starts_at)
);

-- One row, so that a server with another secret or another blob store does not start on the database.
create table installation (
  only_row boolean primary key default true check (only_row),
  secret_mark text not null,
  blob_store_id text,
  -- for people: where the store was at the last start
  blob_store_place text
);

-- How far the sweeps of blobs are: one that was broken off goes on there.
create table blob_sweeps (
  prefix text primary key,
  cursor text not null,
  updated_at timestamptz not null
);
`
