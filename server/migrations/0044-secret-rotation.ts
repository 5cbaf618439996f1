/** Replacing the secret of the installation. */
export const up = `
alter table installation
  -- id of the secret with this mark; null until a server of this version has started
  add column secret_id text,
  -- the secret that replaces it: some servers seal with it already
  add column next_secret_mark text,
  add column next_secret_id text,
  -- secrets with which no server may seal any more
  add column retired_secret_marks text[] not null default '{}',
  -- sealed: the key of the digests; null for the one derived from the first secret
  add column digest_key bytea,
  add check ((next_secret_mark is null) = (next_secret_id is null));
`
