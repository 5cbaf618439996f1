/** Adds to earlier databases the number of outcomes by level. */
export const up = `
alter table task_results add column if not exists outcome_levels jsonb not null default '{}';
update task_results r set outcome_levels = counts.levels
  from (
    select task_result_id, jsonb_object_agg(level, number) as levels
      from (
        select task_result_id, level, count(*) as number
          from task_outcomes o
          cross join lateral (select case
            when o.tags @? '$[*].value[*] ? (@.level == "error")' then 'error'
            when o.tags @? '$[*].value[*] ? (@.level == "warning")' then 'warning'
            when o.tags @? '$[*].value[*] ? (@.level == "info")' then 'info'
            else 'none' end as level) worst
         group by task_result_id, level) by_level
     group by task_result_id) counts
 where counts.task_result_id = r.id;
`
