/** The longest that a session went without use, so that each organization can judge it by its own limit. */
export const up = `
alter table sessions add column longest_idle_minutes integer not null default 0;
`
