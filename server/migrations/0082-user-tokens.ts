/** An organization may take no API tokens of its members, only those of teams and its own. */
export const up = `
alter table organizations add column user_tokens_enabled boolean not null default true;
`
