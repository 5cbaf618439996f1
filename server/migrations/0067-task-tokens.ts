/** The token of a task result goes with it, also when that goes with its workspace. */
export const up = `
delete from tokens t
 where t.task_result_id is not null and not exists (select from task_results r where r.id = t.task_result_id);
alter table tokens add foreign key (task_result_id) references task_results on delete cascade;
`
