/** Which requests of run tasks went to a private address: what came back from there is not shown to everybody. */
export const up = `
-- what was sent before is not known to have
alter table task_deliveries add column is_private boolean not null default false;
`
