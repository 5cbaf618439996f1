/** Invitations that name teams, and what sign-on has granted. */
export const up = `
-- Teams that an invited person joins once there is an account with the address.
create table invited_team_members (
  membership_id text not null references organization_memberships on delete cascade,
  team_id text not null references teams on delete cascade,
  created_at timestamptz not null,
  primary key (membership_id, team_id)
);
create index invited_team_members_team_idx on invited_team_members (team_id);

alter table organization_memberships
  -- the user that clients see before there is one
  add column placeholder_id text,
  add check (user_id is not null or placeholder_id is not null);
create index organization_memberships_list_idx on organization_memberships (organization_id, created_at, id);
-- The address of an active member is that of the account, which may change.
drop index organization_memberships_email_key;
create unique index organization_memberships_invited_key on organization_memberships (organization_id, lower(email))
  where status = 'invited';
create index organization_memberships_invited_idx on organization_memberships (lower(email)) where status = 'invited';

create index teams_list_idx on teams (organization_id, name, id);
create index teams_sso_idx on teams (sso_team_id) where sso_team_id is not null;
create index team_members_team_idx on team_members (team_id, created_at);
-- Whoever may manage projects may manage what is in them, and the same for reading.
alter table teams
  add check (manage_workspaces or not manage_projects),
  add check (read_workspaces or not read_projects);

-- What sign-on has granted it takes away again; what people have granted it leaves alone.
alter table organization_memberships add column via_sso boolean not null default false;
alter table team_members add column via_sso boolean not null default false;

-- The accounts of people at the identity provider.
create table sso_identities (
  issuer text not null,
  subject text not null,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null,
  last_sign_in_at timestamptz not null,
  primary key (issuer, subject)
);
create index sso_identities_user_idx on sso_identities (user_id);
`
