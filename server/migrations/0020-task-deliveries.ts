/** Adds to earlier databases the lists of a task's deliveries and the time at which a run trigger last fired. */
export const up = `
alter table task_deliveries add column if not exists task_id text;
update task_deliveries d set task_id = r.task_id from task_results r where r.id = d.task_result_id and d.task_id is null;
create index if not exists task_deliveries_task_idx on task_deliveries (task_id, sent_at, id);
create index if not exists task_deliveries_succeeded_idx on task_deliveries (task_id, sent_at, id)
  where response_status = 200;
create index if not exists task_deliveries_failed_idx on task_deliveries (task_id, sent_at, id)
  where response_status is distinct from 200;
alter table run_triggers add column if not exists last_fired_at timestamptz;
update run_triggers t set last_fired_at = fired.at
  from (select r.workspace_id as source_id, f.workspace_id, max(f.created_at) as at
          from trigger_firings f join runs r on r.id = f.source_run_id
         group by r.workspace_id, f.workspace_id) fired
 where t.source_id = fired.source_id and t.workspace_id = fired.workspace_id and t.last_fired_at is null;
`
