/** Why repositories cannot be read. */
export const up = `
-- why the last attempt to fetch it failed, while it is repeated; for users
alter table configuration_versions add column fetch_problem text;
-- Why git could not read the repository last, and the followed branches that it does not have: an empty name for the default one.
alter table repositories add column read_error text,
  add column missing_branches text[] not null default '{}';
-- the host has not answered since, and why
alter table oauth_tokens add column unreachable_since timestamptz,
  add column unreachable text;
-- Polls of its repositories are enqueued from then on, and how many in a row got no answer.
alter table oauth_tokens add column poll_after timestamptz,
  add column poll_failures integer not null default 0;
`
