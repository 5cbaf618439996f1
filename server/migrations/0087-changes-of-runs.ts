/** A part of 0087-changes. */
export const ofRuns = `
create function announce_run() returns trigger language plpgsql as $$
begin
  perform announce_change(new.organization_id, 'runs', new.id, new.workspace_id);
  return null;
end $$;
create trigger runs_created_change after insert on runs for each row execute function announce_run();
create trigger runs_change after update on runs
  for each row when (old.* is distinct from new.*) execute function announce_run();

create function announce_run_of_row() returns trigger language plpgsql as $$
begin
  perform announce_change(r.organization_id, 'runs', r.id, r.workspace_id) from runs r where r.id = new.run_id;
  return null;
end $$;
create trigger phases_change after update on phases for each row when (
    (old.status, old.has_changes, old.generated_configuration, old.resource_additions, old.resource_changes,
     old.resource_destructions, old.resource_imports, old.held_until) is distinct from
    (new.status, new.has_changes, new.generated_configuration, new.resource_additions, new.resource_changes,
     new.resource_destructions, new.resource_imports, new.held_until))
  execute function announce_run_of_row();
create trigger run_events_change after insert on run_events for each row execute function announce_run_of_row();
create trigger comments_change after insert or update on comments for each row execute function announce_run_of_row();
create trigger task_stages_created_change after insert on task_stages
  for each row execute function announce_run_of_row();
create trigger task_stages_change after update on task_stages
  for each row when (old.* is distinct from new.*) execute function announce_run_of_row();

create function announce_firing() returns trigger language plpgsql as $$
begin
  perform announce_change(r.organization_id, 'runs', r.id, r.workspace_id) from runs r where r.id = new.source_run_id;
  return null;
end $$;
create trigger trigger_firings_change after insert or update on trigger_firings
  for each row execute function announce_firing();

create function announce_task_result() returns trigger language plpgsql as $$
begin
  perform announce_change(r.organization_id, 'task-results', new.id, r.workspace_id, jsonb_build_object('run', r.id))
     from runs r where r.id = new.run_id;
  return null;
end $$;
create trigger task_results_created_change after insert on task_results
  for each row execute function announce_task_result();
create trigger task_results_change after update on task_results for each row when (
    (old.status, old.message, old.url, old.enforcement_level, old.started_at, old.deadline_at, old.called_back_at,
     old.delivered_at, old.outcomes_count, old.attempts, old.delivery_due_at) is distinct from
    (new.status, new.message, new.url, new.enforcement_level, new.started_at, new.deadline_at, new.called_back_at,
     new.delivered_at, new.outcomes_count, new.attempts, new.delivery_due_at))
  execute function announce_task_result();
create function announce_changed_task_results() returns trigger language plpgsql as $$
begin
  perform announce_change(r.organization_id, 'task-results', t.id, r.workspace_id, jsonb_build_object('run', r.id))
     from (select distinct task_result_id from changed) c
     join task_results t on t.id = c.task_result_id join runs r on r.id = t.run_id;
  return null;
end $$;
create trigger task_deliveries_change after insert on task_deliveries referencing new table as changed
  for each statement execute function announce_changed_task_results();
create trigger task_outcomes_created_change after insert on task_outcomes referencing new table as changed
  for each statement execute function announce_changed_task_results();
create trigger task_outcomes_change after update on task_outcomes referencing new table as changed
  for each statement execute function announce_changed_task_results();
`
