/**
 * An address that a person only says is theirs. `users.email` holds none but those that an administrator or the identity
 * provider answers for: sign-on and invitations find accounts by it.
 */
export const up = `
alter table users add column unconfirmed_email text;
create index users_unconfirmed_email_idx on users (lower(unconfirmed_email)) where unconfirmed_email is not null;
`
