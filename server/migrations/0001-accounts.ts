/** Who there is: users and their sessions, organizations, memberships, teams, and every kind of token. */
export const up = `
create table users (
  id text primary key,
  username text not null,
  email text,
  -- scrypt with its parameters; null for accounts that sign in elsewhere, and for service accounts
  password_hash text,
  auth_method text not null default 'password' check (auth_method in ('password', 'sso', 'token')),
  is_site_admin boolean not null default false,
  -- the account as which a team's token acts
  is_service_account boolean not null default false,
  suspended_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index users_username_key on users (lower(username));
create unique index users_email_key on users (lower(email));

create table sessions (
  -- SHA-256 of the cookie
  hash bytea primary key,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  address text,
  user_agent text
);
create index sessions_user_idx on sessions (user_id, created_at);
create index sessions_expiry_idx on sessions (expires_at);

create table organizations (
  id text primary key,
  name text not null,
  email text not null,
  plan text not null check (plan in ('free', 'standard', 'unlimited')),
  collaborator_auth_policy text not null default 'password'
    check (collaborator_auth_policy in ('password', 'two_factor_mandatory')),
  session_timeout integer,
  session_remember integer,
  cost_estimation_enabled boolean not null default false,
  assessments_enforced boolean not null default false,
  allow_force_delete_workspaces boolean not null default false,
  send_passing_statuses boolean not null default false,
  aggregated_commit_status_enabled boolean not null default true,
  speculative_plan_management_enabled boolean not null default true,
  owners_team_saml_role_id text,
  default_execution_mode text not null default 'remote' check (default_execution_mode in ('remote', 'local', 'agent')),
  default_agent_pool_id text,
  default_project_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index organizations_name_key on organizations (lower(name));

create table organization_memberships (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  -- null while nobody has signed up with the invited address
  user_id text references users on delete cascade,
  email text not null,
  status text not null check (status in ('active', 'invited')),
  created_at timestamptz not null,
  check (status = 'invited' or user_id is not null)
);
create unique index organization_memberships_user_key on organization_memberships (organization_id, user_id);
create unique index organization_memberships_email_key on organization_memberships (organization_id, lower(email));
create index organization_memberships_user_idx on organization_memberships (user_id);

create table teams (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  is_owners boolean not null default false,
  visibility text not null default 'secret' check (visibility in ('secret', 'organization')),
  sso_team_id text,
  allow_member_token_management boolean not null default true,
  service_user_id text not null references users,
  manage_policies boolean not null default false,
  manage_policy_overrides boolean not null default false,
  delegate_policy_overrides boolean not null default false,
  manage_workspaces boolean not null default false,
  manage_vcs_settings boolean not null default false,
  manage_providers boolean not null default false,
  manage_modules boolean not null default false,
  manage_run_tasks boolean not null default false,
  manage_projects boolean not null default false,
  read_workspaces boolean not null default false,
  read_projects boolean not null default false,
  manage_membership boolean not null default false,
  manage_teams boolean not null default false,
  manage_organization_access boolean not null default false,
  access_secret_teams boolean not null default false,
  manage_agent_pools boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index teams_name_key on teams (organization_id, lower(name));
create unique index teams_owners_key on teams (organization_id) where is_owners;
create index teams_service_user_idx on teams (service_user_id);

-- A team's service account is a member of its team, so that one rule holds for people and team tokens.
create table team_members (
  team_id text not null references teams on delete cascade,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null,
  primary key (team_id, user_id)
);
create index team_members_user_idx on team_members (user_id, team_id);

create table projects (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  description text,
  default_execution_mode text check (default_execution_mode in ('remote', 'local', 'agent')),
  default_agent_pool_id text,
  auto_destroy_activity_duration text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index projects_name_key on projects (organization_id, lower(name));
alter table organizations add foreign key (default_project_id) references projects deferrable initially deferred;

create table agent_pools (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  organization_scoped boolean not null default true,
  created_at timestamptz not null
);
create unique index agent_pools_name_key on agent_pools (organization_id, lower(name));
alter table organizations add foreign key (default_agent_pool_id) references agent_pools on delete set null;
alter table projects add foreign key (default_agent_pool_id) references agent_pools on delete set null;

-- API tokens of every kind; only their hashes are kept.
create table tokens (
  id text primary key,
  kind text not null check (kind in ('user', 'team', 'organization', 'audit-trails', 'agent', 'run', 'task')),
  hash bytea not null unique,
  -- whom the token acts as: a user, or a team's service account
  user_id text references users on delete cascade,
  organization_id text references organizations on delete cascade,
  team_id text references teams on delete cascade,
  agent_pool_id text references agent_pools on delete cascade,
  run_id text,
  workspace_id text,
  task_result_id text,
  -- the one token of a team that POST /teams/:id/authentication-token replaces
  is_legacy boolean not null default false,
  description text,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz
);
create index tokens_user_idx on tokens (user_id, created_at);
create index tokens_team_idx on tokens (team_id, created_at);
create index tokens_organization_idx on tokens (organization_id, kind);
create index tokens_agent_pool_idx on tokens (agent_pool_id, created_at, id);
create index tokens_run_idx on tokens (run_id) where run_id is not null;
create index tokens_task_result_idx on tokens (task_result_id) where task_result_id is not null;
create index tokens_expiry_idx on tokens (expires_at) where expires_at is not null;
create unique index tokens_team_legacy_key on tokens (team_id) where is_legacy;
create unique index tokens_organization_key on tokens (organization_id, kind)
  where kind in ('organization', 'audit-trails');
`
