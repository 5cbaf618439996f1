import { ORGANIZATION_ACCESS_BITS } from '../src/auth/grants.ts'

/** Tables of sign-in settings; databases of earlier versions get them by a later migration. */
export const SIGN_IN_TABLES = `
-- One row, or none while the site uses the defaults. Settings of the environment take precedence.
create table if not exists sign_in_settings (
  only_row boolean primary key default true check (only_row),
  issuer text,
  client_id text,
  -- encrypted; null for a public client
  client_secret bytea,
  name text not null,
  scopes text not null,
  group_claim text not null,
  password_sign_in boolean not null,
  updated_at timestamptz not null,
  check ((issuer is null) = (client_id is null))
);

-- Trial sign-ins of administrators, deleted after a day.
create table if not exists sign_in_trials (
  id text primary key,
  user_id text not null references users on delete cascade,
  -- the settings that are tried, encrypted
  settings bytea not null,
  -- equal for equal settings
  fingerprint text not null,
  -- what the provider reported, encrypted
  result bytea,
  -- whether an administrator signed in
  proves_sign_in boolean not null default false,
  created_at timestamptz not null,
  finished_at timestamptz
);
create index if not exists sign_in_trials_age_idx on sign_in_trials (created_at);
create index if not exists sign_in_trials_user_idx on sign_in_trials (user_id);
`

/** Organizations, their members, teams and projects, and accounts at the identity provider. */
export const up = `
create table organizations (
  id text primary key,
  name text not null,
  email text not null,
  plan text not null check (plan in ('free', 'standard', 'unlimited')),
  collaborator_auth_policy text not null default 'password'
    check (collaborator_auth_policy in ('password', 'two_factor_mandatory')),
  session_timeout integer,
  session_remember integer,
  -- whether members may use personal API tokens, in addition to team and organization tokens
  user_tokens_enabled boolean not null default true,
  cost_estimation_enabled boolean not null default false,
  allow_force_delete_workspaces boolean not null default false,
  send_passing_statuses boolean not null default false,
  aggregated_commit_status_enabled boolean not null default true,
  speculative_plan_management_enabled boolean not null default true,
  owners_team_saml_role_id text,
  default_execution_mode text not null default 'remote' check (default_execution_mode in ('remote', 'local', 'agent')),
  default_agent_pool_id text,
  default_project_id text,
  run_concurrency integer check (run_concurrency > 0),
  -- increases with every change of team members and team access, so that counts can be cached
  access_revision bigint not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index organizations_name_key on organizations (lower(name));
create index organizations_list_idx on organizations (name);

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
create index projects_list_idx on projects (organization_id, name, id);
-- An organization and its default project reference each other, and are created together.
alter table organizations add foreign key (default_project_id) references projects deferrable initially deferred;

create table organization_memberships (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  -- null until there is an account with the invited address
  user_id text references users on delete cascade,
  -- user id shown to clients before the account exists
  placeholder_id text,
  email text not null,
  status text not null check (status in ('active', 'invited')),
  -- granted by single sign-on, which revokes only its own grants
  via_sso boolean not null default false,
  -- SHA-256 of the secrets in the invitation's links; the first one is shown to the inviter, the second only sent by e-mail
  invitation_hash bytea,
  mailed_invitation_hash bytea,
  invitation_expires_at timestamptz,
  created_at timestamptz not null,
  check (status = 'invited' or user_id is not null),
  check (user_id is not null or placeholder_id is not null)
);
create unique index organization_memberships_user_key on organization_memberships (organization_id, user_id);
create index organization_memberships_user_idx on organization_memberships (user_id);
create index organization_memberships_list_idx on organization_memberships (organization_id, created_at, id);
-- An active member has the address of the account, which may change.
create unique index organization_memberships_invited_key on organization_memberships (organization_id, lower(email))
  where status = 'invited';
create unique index organization_memberships_invitation_key on organization_memberships (invitation_hash)
  where invitation_hash is not null;
create unique index organization_memberships_mailed_invitation_key on organization_memberships (mailed_invitation_hash)
  where mailed_invitation_hash is not null;
create index organization_memberships_invited_idx on organization_memberships (lower(email)) where status = 'invited';

create table teams (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  description text,
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
  -- the columns above as bits, so that the permissions of several teams are one aggregate
  organization_access integer not null generated always as (${ORGANIZATION_ACCESS_BITS}) stored,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Permission to manage or read projects includes their workspaces.
  check (manage_workspaces or not manage_projects),
  check (read_workspaces or not read_projects)
);
create unique index teams_name_key on teams (organization_id, lower(name));
create unique index teams_owners_key on teams (organization_id) where is_owners;
create index teams_list_idx on teams (organization_id, name, id);
create index teams_service_user_idx on teams (service_user_id);
create index teams_sso_idx on teams (sso_team_id) where sso_team_id is not null;

-- A team's service account is a member of its team, so that users and team tokens are treated alike.
create table team_members (
  team_id text not null references teams on delete cascade,
  user_id text not null references users on delete cascade,
  -- granted by single sign-on, which revokes only its own grants
  via_sso boolean not null default false,
  created_at timestamptz not null,
  primary key (team_id, user_id)
);
create index team_members_user_idx on team_members (user_id, team_id);
create index team_members_team_idx on team_members (team_id, created_at);

-- Teams that an invited user joins once there is an account with the address.
create table invited_team_members (
  membership_id text not null references organization_memberships on delete cascade,
  team_id text not null references teams on delete cascade,
  created_at timestamptz not null,
  primary key (membership_id, team_id)
);
create index invited_team_members_team_idx on invited_team_members (team_id);

-- Accounts of users at the identity provider.
create table sso_identities (
  issuer text not null,
  subject text not null,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null,
  last_sign_in_at timestamptz not null,
  primary key (issuer, subject)
);
create index sso_identities_user_idx on sso_identities (user_id);

${SIGN_IN_TABLES}
create table reserved_tag_keys (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  key text not null,
  -- workspaces must keep the value of their project
  disable_overrides boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index reserved_tag_keys_key on reserved_tag_keys (organization_id, key);

alter table tokens add foreign key (organization_id) references organizations on delete cascade;
alter table tokens add foreign key (team_id) references teams on delete cascade;
`
