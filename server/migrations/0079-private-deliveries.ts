/** Which requests of run tasks went to a private address: what came back from there is not shown to everybody. */
export const up = `
-- of what was sent before, and by servers of the version before, it is not known
alter table task_deliveries add column is_private boolean not null default true;
`
