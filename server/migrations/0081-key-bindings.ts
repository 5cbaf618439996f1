/** A key alone may be a binding too: clients that bind tags look for it among those that are in force. */
export const up = `
-- whether it was written as a binding; a flat tag was not, and which older keys without a value were is not known
alter table tag_bindings add column is_binding boolean not null default false;
`
