/** The token of a run goes with it, also when that goes with its workspace: other workspaces may show it their state. */
export const up = `
delete from tokens t where t.run_id is not null and not exists (select from runs r where r.id = t.run_id);
alter table tokens add foreign key (run_id) references runs on delete cascade;
`
