/** Adds to earlier databases the session of a CLI sign-in: codes without one are invalid. */
export const up = `
alter table oauth_codes add column if not exists session_id text references sessions (id) on delete set null;
create index if not exists oauth_codes_session_idx on oauth_codes (session_id) where session_id is not null;
`
