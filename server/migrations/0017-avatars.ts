/** Adds uploaded avatars to earlier databases. */
export const up = `
alter table users add column if not exists avatar text;
create table if not exists avatars (
  user_id text primary key references users on delete cascade,
  file text not null unique,
  content bytea not null
);
`
