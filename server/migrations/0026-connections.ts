/** Authorizations in a browser, the host of GitHub App installations, and the log of connections. */
export const up = `
-- An authorization that a person has started in a browser: of a connection, or of an installation of the GitHub App. Used once.
create table vcs_authorizations (
  -- SHA-256 of the state
  hash bytea primary key,
  organization_id text not null references organizations on delete cascade,
  oauth_client_id text references oauth_clients on delete cascade,
  -- GitHub's number of the installation, once it is known
  installation_id bigint,
  session_id text not null,
  expires_at timestamptz not null
);
create index vcs_authorizations_expires_idx on vcs_authorizations (expires_at);
create index vcs_authorizations_organization_idx on vcs_authorizations (organization_id);
create index vcs_authorizations_client_idx on vcs_authorizations (oauth_client_id) where oauth_client_id is not null;

-- a process refreshes the token until then, and no other
alter table oauth_tokens add column refreshing_until timestamptz;

alter table github_app_installations
  add column service_provider text not null check (service_provider in ('github', 'github_enterprise')),
  add column http_url text not null,
  add column api_url text not null;
create index github_app_installations_installation_idx on github_app_installations (installation_id);

create table vcs_events (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  oauth_client_id text references oauth_clients on delete set null,
  oauth_token_id text references oauth_tokens on delete set null,
  level text not null check (level in ('info', 'error')),
  message text not null,
  suggested_action text,
  created_at timestamptz not null
);
create index vcs_events_list_idx on vcs_events (organization_id, created_at desc, id);
create index vcs_events_kept_idx on vcs_events (created_at, id);
create index vcs_events_client_idx on vcs_events (oauth_client_id) where oauth_client_id is not null;
create index vcs_events_token_idx on vcs_events (oauth_token_id) where oauth_token_id is not null;
`
