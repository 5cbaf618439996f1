/** Adds one-time links to earlier databases: for invitations, and to set a password. */
export const up = `
create table if not exists password_resets (
  hash bytea primary key,
  user_id text not null references users on delete cascade,
  expires_at timestamptz not null
);
create index if not exists password_resets_user_idx on password_resets (user_id);
create index if not exists password_resets_expiry_idx on password_resets (expires_at);
alter table organization_memberships
  add column if not exists invitation_hash bytea,
  add column if not exists mailed_invitation_hash bytea,
  add column if not exists invitation_expires_at timestamptz;
create unique index if not exists organization_memberships_invitation_key
  on organization_memberships (invitation_hash) where invitation_hash is not null;
create unique index if not exists organization_memberships_mailed_invitation_key
  on organization_memberships (mailed_invitation_hash) where mailed_invitation_hash is not null;
`
