/** Users, sign-in, sessions and API tokens. */
export const up = `
create table users (
  id text primary key,
  username text not null,
  -- confirmed by an administrator or the identity provider; used by single sign-on and invitations to find accounts
  email text,
  -- entered by the user, unconfirmed
  unconfirmed_email text,
  -- scrypt with its parameters; null for accounts that sign in elsewhere, and for service accounts
  password_hash text,
  auth_method text not null default 'password' check (auth_method in ('password', 'sso', 'token')),
  is_site_admin boolean not null default false,
  -- service account of a team's token
  is_service_account boolean not null default false,
  suspended_at timestamptz,
  -- file name of the uploaded avatar; null for the generated pattern
  avatar text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index users_username_key on users (lower(username));
create unique index users_email_key on users (lower(email));
create index users_site_admin_idx on users (created_at) where is_site_admin;
create index users_created_idx on users (created_at, id) where not is_service_account;

create table avatars (
  user_id text primary key references users on delete cascade,
  -- random, so that it reveals no user; the extension is that of the format
  file text not null unique,
  content bytea not null
);

-- The account that the engine uses to write state during a run.
insert into users (id, username, auth_method, is_service_account, created_at, updated_at)
values ('user-GroundstateRuns1', 'groundstate-runs', 'token', true, now(), now());

create table sessions (
  -- SHA-256 of the cookie
  hash bytea primary key,
  id text not null,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  -- idle timeout in minutes
  idle_minutes integer not null check (idle_minutes > 0),
  -- longest idle time so far, in minutes; each organization compares it with its own limit
  longest_idle_minutes integer not null default 0,
  address text,
  user_agent text
);
create unique index sessions_id_key on sessions (id);
create index sessions_user_idx on sessions (user_id, created_at);
create index sessions_expiry_idx on sessions (expires_at);

create table two_factor_secrets (
  user_id text primary key references users on delete cascade,
  -- the shared secret, encrypted
  secret bytea not null,
  -- null until a first code confirmed the authenticator
  verified_at timestamptz,
  -- time step of the last accepted code: each code works once
  last_step bigint not null default 0,
  created_at timestamptz not null
);

create table recovery_codes (
  user_id text not null references two_factor_secrets on delete cascade,
  -- SHA-256 of the code; the row is deleted when the code is used
  hash bytea not null,
  primary key (user_id, hash)
);

create table sign_in_attempts (
  -- an account or an address
  key text primary key,
  count integer not null,
  started_at timestamptz not null
);
create index sign_in_attempts_age_idx on sign_in_attempts (started_at);

-- Networks from which users signed in with their passwords: failed attempts from elsewhere do not block them there.
create table sign_in_places (
  user_id text not null references users on delete cascade,
  -- an IPv4 address, or an IPv6 network of 64 bits
  place text not null,
  last_at timestamptz not null,
  primary key (user_id, place)
);
create index sign_in_places_age_idx on sign_in_places (last_at);

-- One-time links to set a password.
create table password_resets (
  -- SHA-256 of the secret in the link
  hash bytea primary key,
  user_id text not null references users on delete cascade,
  expires_at timestamptz not null
);
create index password_resets_user_idx on password_resets (user_id);
create index password_resets_expiry_idx on password_resets (expires_at);

-- API tokens of every kind; only hashes are stored. Later areas add foreign keys to their tables.
create table tokens (
  id text primary key,
  kind text not null check (kind in ('user', 'team', 'organization', 'audit-trails', 'agent', 'run', 'task')),
  hash bytea not null unique,
  -- a user, or a team's service account
  user_id text references users on delete cascade,
  organization_id text,
  team_id text,
  agent_pool_id text,
  run_id text,
  -- the run's workspace
  workspace_id text,
  task_result_id text,
  -- the token of a team that POST /teams/:id/authentication-token replaces
  is_legacy boolean not null default false,
  -- created from a setting, and deleted when the setting changes
  from_setting boolean not null default false,
  description text,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz
);
create index tokens_user_idx on tokens (user_id, created_at);
create index tokens_team_idx on tokens (team_id, created_at);
create index tokens_team_list_idx on tokens (organization_id, created_at, id) where kind = 'team';
create index tokens_organization_idx on tokens (organization_id, kind);
create index tokens_agent_pool_idx on tokens (agent_pool_id, created_at, id);
create index tokens_run_idx on tokens (run_id) where run_id is not null;
create index tokens_task_result_idx on tokens (task_result_id) where task_result_id is not null;
create index tokens_expiry_idx on tokens (expires_at) where expires_at is not null;
create index tokens_from_setting_idx on tokens (id) where from_setting;
create unique index tokens_team_legacy_key on tokens (team_id) where is_legacy;
-- Within a team, the description identifies a token.
create unique index tokens_team_description_key on tokens (team_id, description) where kind = 'team' and not is_legacy;
create unique index tokens_organization_key on tokens (organization_id, kind)
  where kind in ('organization', 'audit-trails');

-- Codes of the CLI sign-in.
create table oauth_codes (
  -- SHA-256 of the code
  hash bytea primary key,
  user_id text not null references users on delete cascade,
  -- the session that approved the CLI; null once it has ended, which invalidates the code
  session_id text references sessions (id) on delete set null,
  client_id text not null,
  redirect_uri text not null,
  code_challenge text not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- the token issued for the code, revoked if the code is used again
  token_id text references tokens on delete set null
);
create index oauth_codes_user_idx on oauth_codes (user_id);
create index oauth_codes_session_idx on oauth_codes (session_id) where session_id is not null;
create index oauth_codes_token_idx on oauth_codes (token_id) where token_id is not null;
create index oauth_codes_expiry_idx on oauth_codes (expires_at);
`
