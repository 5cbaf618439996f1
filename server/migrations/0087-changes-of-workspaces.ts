/** A part of 0087-changes: workspaces and what is in them, apart from runs. */
export const ofWorkspaces = `
create function announce_workspace() returns trigger language plpgsql as $$
begin
  perform announce_change(new.organization_id, 'workspaces', new.id, new.id);
  if tg_op = 'UPDATE' and old.project_id is distinct from new.project_id then
    perform announce_to_teams(old.organization_id, 'workspaces', old.id, old.id,
      array(select team_id from team_projects where project_id = old.project_id));
  end if;
  return null;
end $$;
create function announce_deleted_workspace() returns trigger language plpgsql as $$
begin
  perform announce_to_teams(old.organization_id, 'workspaces', old.id, old.id,
    array(select team_id from team_projects where project_id = old.project_id
          union select team_id from team_workspaces where workspace_id = old.id));
  perform announce_change(old.organization_id, 'run-triggers', t.id,
      case old.id when t.source_id then t.workspace_id else t.source_id end)
     from run_triggers t where t.workspace_id = old.id or t.source_id = old.id;
  return old;
end $$;
create trigger workspaces_created_change after insert on workspaces
  for each row execute function announce_workspace();
create trigger workspaces_change after update on workspaces
  for each row when (old.* is distinct from new.*) execute function announce_workspace();
create trigger workspaces_deleted_change before delete on workspaces
  for each row when (pg_trigger_depth() = 0) execute function announce_deleted_workspace();

create function announce_tags() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  if r.workspace_id is not null then
    perform announce_change(r.organization_id, 'workspaces', r.workspace_id, r.workspace_id);
  else
    perform announce_to_teams(r.organization_id, 'projects', r.project_id, null,
      array(select team_id from team_projects where project_id = r.project_id));
  end if;
  return null;
end $$;
create trigger tag_bindings_change after insert or update on tag_bindings
  for each row execute function announce_tags();
create trigger tag_bindings_deleted_change after delete on tag_bindings
  for each row when (pg_trigger_depth() = 0) execute function announce_tags();
create trigger team_workspaces_change after insert or update on team_workspaces
  for each row execute function announce_workspace_of_row();
create trigger team_workspaces_deleted_change after delete on team_workspaces
  for each row when (pg_trigger_depth() = 0) execute function announce_workspace_of_row();
create trigger remote_state_consumers_change after insert on remote_state_consumers
  for each row execute function announce_workspace_of_row();
create trigger remote_state_consumers_deleted_change after delete on remote_state_consumers
  for each row when (pg_trigger_depth() = 0) execute function announce_workspace_of_row();

create trigger state_versions_created_change after insert on state_versions
  for each row execute function announce_of_workspace('state-versions');
create trigger state_versions_change after update on state_versions for each row when (
    (old.status, old.size, old.intermediate, old.resources_processed, old.resource_count, old.json_location, old.awaits_json,
     old.soft_deleted_at, old.purge_at) is distinct from
    (new.status, new.size, new.intermediate, new.resources_processed, new.resource_count, new.json_location, new.awaits_json,
     new.soft_deleted_at, new.purge_at))
  execute function announce_of_workspace('state-versions');
create trigger state_versions_deleted_change after delete on state_versions
  for each row when (pg_trigger_depth() = 0) execute function announce_of_workspace('state-versions');

create trigger workspace_tasks_change after insert or update on workspace_tasks
  for each row execute function announce_of_workspace('workspace-tasks');
create trigger workspace_tasks_deleted_change after delete on workspace_tasks
  for each row when (pg_trigger_depth() = 0) execute function announce_of_workspace('workspace-tasks');

-- A trigger is shown on both of its sides.
create function announce_run_trigger() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(w.organization_id, 'run-triggers', r.id, w.id)
     from workspaces w where w.id in (r.workspace_id, r.source_id);
  return null;
end $$;
create trigger run_triggers_change after insert or update on run_triggers
  for each row execute function announce_run_trigger();
create trigger run_triggers_deleted_change after delete on run_triggers
  for each row when (pg_trigger_depth() = 0) execute function announce_run_trigger();
`
