import { CONFIGURATION_SOURCES } from '@groundstate/contract/configuration-versions'
import { SERVICE_PROVIDERS } from '@groundstate/contract/oauth-clients'
import { literalList } from '../src/db/sql.ts'

/** Connections to hosts of repositories, SSH keys, repositories of workspaces, and what their hosts have reported. */
export const up = `
create table oauth_clients (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  -- in the addresses of its authorization and callback
  uuid text not null unique,
  name text,
  service_provider text not null check (service_provider in (${literalList(Object.keys(SERVICE_PROVIDERS))})),
  http_url text not null,
  api_url text not null,
  key text,
  -- sealed
  secret bytea,
  rsa_public_key text,
  -- sealed
  private_key bytea,
  ado_entra_tenant_id text,
  organization_scoped boolean not null default true,
  fork_plans_enabled boolean not null default false,
  polling_enabled boolean not null default false,
  -- no action on delete: without its pool, the host would be requested from the server's network
  agent_pool_id text references agent_pools,
  -- the host limits requests: none before
  blocked_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index oauth_clients_list_idx on oauth_clients (organization_id, created_at, id);
create index oauth_clients_agent_pool_idx on oauth_clients (agent_pool_id) where agent_pool_id is not null;

create table oauth_client_projects (
  oauth_client_id text not null references oauth_clients on delete cascade,
  project_id text not null references projects on delete cascade,
  primary key (oauth_client_id, project_id)
);
create index oauth_client_projects_project_idx on oauth_client_projects (project_id);

create table oauth_tokens (
  id text primary key,
  oauth_client_id text not null references oauth_clients on delete cascade,
  service_provider_user text,
  -- for hosts that need one with the token
  username text,
  -- sealed, as are the next two
  token bytea,
  refresh_token bytea,
  ssh_key bytea,
  expires_at timestamptz,
  -- when the host refused it, and why
  failed_at timestamptz,
  failure text,
  created_at timestamptz not null
);
create index oauth_tokens_client_idx on oauth_tokens (oauth_client_id, created_at, id);

create table github_app_installations (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  installation_id bigint not null,
  name text not null,
  icon_url text,
  installation_type text not null,
  installation_url text,
  failed_at timestamptz,
  failure text,
  blocked_until timestamptz,
  created_at timestamptz not null,
  unique (organization_id, installation_id)
);

create table ssh_keys (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  -- sealed
  value bytea not null,
  created_at timestamptz not null,
  unique (organization_id, name)
);

-- A repository that workspaces use through a connection, with its webhook.
create table repositories (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  oauth_token_id text references oauth_tokens on delete cascade,
  github_app_installation_id text references github_app_installations on delete cascade,
  identifier text not null,
  display_identifier text not null,
  page_url text not null,
  clone_url text not null,
  ssh_url text,
  -- null until the host has been asked
  default_branch text,
  -- the last segment of the URL of the webhook
  webhook_path text not null unique,
  -- sealed
  webhook_secret bytea not null,
  -- on the host; null before it was created, or if users create it
  webhook_id text,
  webhook_error text,
  -- Branches, tags and pull requests as polling found them last.
  polled_refs jsonb,
  polled_at timestamptz,
  created_at timestamptz not null,
  check (num_nonnulls(oauth_token_id, github_app_installation_id) = 1)
);
create unique index repositories_token_key on repositories (oauth_token_id, identifier) where oauth_token_id is not null;
create unique index repositories_installation_key on repositories (github_app_installation_id, identifier)
  where github_app_installation_id is not null;
create index repositories_polled_idx on repositories (polled_at nulls first);

alter table workspaces drop column vcs_repo,
  add column repository_id text references repositories on delete set null,
  add column vcs_branch text,
  add column vcs_submodules boolean not null default false,
  add column vcs_tags_regex text,
  add column ssh_key_id text references ssh_keys on delete set null;
create index workspaces_repository_idx on workspaces (repository_id) where repository_id is not null;
create index workspaces_ssh_key_idx on workspaces (ssh_key_id) where ssh_key_id is not null;

-- What a host reported, once for each delivery; polling and replays are deliveries, too.
create table vcs_deliveries (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  repository_id text references repositories on delete set null,
  -- stays when the repository is no longer used
  repository_identifier text not null,
  -- the host's id of the delivery, which repetitions share
  delivery_key text not null,
  source text not null check (source in ('webhook', 'polling', 'replay')),
  status text not null check (status in ('pending', 'decided', 'ignored', 'failed')),
  -- HostEvent; null if it was ignored
  event jsonb,
  -- why it was ignored or failed
  message text,
  received_at timestamptz not null,
  decided_at timestamptz
);
create unique index vcs_deliveries_key on vcs_deliveries (repository_id, delivery_key);
create index vcs_deliveries_list_idx on vcs_deliveries (organization_id, received_at desc, id);
create index vcs_deliveries_repository_idx on vcs_deliveries (repository_id, received_at desc, id);
create index vcs_deliveries_kept_idx on vcs_deliveries (received_at, id);

create table vcs_decisions (
  delivery_id text not null references vcs_deliveries on delete cascade,
  workspace_id text not null references workspaces on delete cascade,
  decision text not null check (decision in ('run', 'plan', 'skip')),
  -- a key of the table of reasons, and what completes its text
  reason text not null,
  detail text,
  run_id text references runs on delete set null,
  primary key (delivery_id, workspace_id)
);
create index vcs_decisions_workspace_idx on vcs_decisions (workspace_id, delivery_id);

-- A commit runs once in a workspace, and is planned once for pull requests.
create table vcs_commit_runs (
  workspace_id text not null references workspaces on delete cascade,
  commit_sha text not null,
  kind text not null check (kind in ('run', 'plan')),
  run_id text references runs on delete set null,
  primary key (workspace_id, commit_sha, kind)
);
create index vcs_commit_runs_run_idx on vcs_commit_runs (run_id) where run_id is not null;

-- The commit of configuration versions, which those of one delivery share.
create table ingress_attributes (
  id text primary key,
  repository_id text references repositories on delete set null,
  identifier text not null,
  branch text not null,
  clone_url text not null,
  commit_sha text not null,
  commit_message text not null,
  commit_url text not null,
  compare_url text not null,
  on_default_branch boolean not null,
  tag text,
  pull_request_number integer,
  pull_request_url text,
  pull_request_title text,
  pull_request_body text,
  sender_username text not null,
  sender_avatar_url text not null,
  sender_html_url text not null,
  changed_files text[] not null default '{}',
  -- for a pull request: the commit of the base that the head is merged into, and whether the head is in another repository
  base_sha text,
  is_fork boolean not null default false,
  -- of the commit, or of the result of the merge; null until git has been asked
  tree_sha text,
  created_at timestamptz not null
);
create index ingress_attributes_pull_request_idx on ingress_attributes (repository_id, pull_request_number)
  where pull_request_number is not null;
alter table configuration_versions add column ingress_attributes_id text references ingress_attributes,
  drop constraint configuration_versions_source_check,
  add constraint configuration_versions_source_check check (source in (${literalList(CONFIGURATION_SOURCES)}));
-- whether the archive of its configuration is still fetched from the repository
alter table runs add column fetches boolean not null default false;
create index configuration_versions_ingress_idx on configuration_versions (ingress_attributes_id)
  where ingress_attributes_id is not null;
`
