/** What sessions, second factors, the limit of sign-in attempts and the sign-in of command lines keep. */
export const up = `
-- Sessions that were opened before they had a name can't be listed or ended one by one: they end here.
delete from sessions;
alter table sessions add column id text not null;
create unique index sessions_id_key on sessions (id);
-- A session ends when it has not been used for this long, in minutes.
alter table sessions add column idle_minutes integer not null check (idle_minutes > 0);

create table second_factors (
  user_id text primary key references users on delete cascade,
  -- the shared secret, encrypted
  secret bytea not null,
  -- null until a first code has shown that the authenticator has the secret
  verified_at timestamptz,
  -- the time step of the last code taken: each code works once
  last_step bigint not null default 0,
  created_at timestamptz not null
);

create table recovery_codes (
  user_id text not null references second_factors on delete cascade,
  -- SHA-256 of the code; the row goes when the code is used
  hash bytea not null,
  primary key (user_id, hash)
);

create table sign_in_attempts (
  -- whose attempts are counted: an account, or an address
  key text primary key,
  count integer not null,
  started_at timestamptz not null
);
create index sign_in_attempts_age_idx on sign_in_attempts (started_at);

create table oauth_codes (
  -- SHA-256 of the code
  hash bytea primary key,
  user_id text not null references users on delete cascade,
  client_id text not null,
  redirect_uri text not null,
  code_challenge text not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- what the code was exchanged for, revoked when the code comes a second time
  token_id text references tokens on delete set null
);
create index oauth_codes_user_idx on oauth_codes (user_id);
create index oauth_codes_token_idx on oauth_codes (token_id) where token_id is not null;
create index oauth_codes_expiry_idx on oauth_codes (expires_at);

-- Within a team the description is the name of a token.
create unique index tokens_team_description_key on tokens (team_id, description) where kind = 'team' and not is_legacy;
create index tokens_team_list_idx on tokens (organization_id, created_at, id) where kind = 'team';
create index users_site_admin_idx on users (created_at) where is_site_admin;
create index users_created_idx on users (created_at, id) where not is_service_account;
`
