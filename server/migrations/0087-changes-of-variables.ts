/** A part of 0087-changes: variables, and the sets of them. */
export const ofVariables = `
-- Who sees the sets of a project is said by grants on the project, who sees all others by the organization.
create function announce_variable_set(of_set text) returns void language plpgsql as $$
declare s record;
begin
  select id, organization_id, project_id into s from variable_sets where id = of_set;
  if s.project_id is null then
    perform announce_change(s.organization_id, 'varsets', s.id, null);
  else
    perform announce_to_teams(s.organization_id, 'varsets', s.id, null, teams_with_sets_of(s.project_id));
  end if;
end $$;
create function teams_with_sets_of(of_project text) returns text[] language sql stable as $$
  select array(select team_id from team_projects
                where project_id = of_project and (access <> 'custom' or project_variable_sets <> 'none'))
$$;
create function announce_set_of_row() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_variable_set(r.variable_set_id);
  return null;
end $$;
create function announce_set() returns trigger language plpgsql as $$
begin
  perform announce_variable_set(new.id);
  return null;
end $$;
create function announce_deleted_set() returns trigger language plpgsql as $$
begin
  perform announce_variable_set(old.id);
  return old;
end $$;
create trigger variable_sets_change after insert or update on variable_sets for each row execute function announce_set();
create trigger variable_sets_deleted_change before delete on variable_sets
  for each row when (pg_trigger_depth() = 0) execute function announce_deleted_set();
create trigger variable_set_projects_change after insert on variable_set_projects
  for each row execute function announce_set_of_row();
create trigger variable_set_projects_deleted_change after delete on variable_set_projects
  for each row when (pg_trigger_depth() = 0) execute function announce_set_of_row();
create trigger variable_set_workspaces_change after insert on variable_set_workspaces
  for each row execute function announce_set_of_row();
create trigger variable_set_workspaces_deleted_change after delete on variable_set_workspaces
  for each row when (pg_trigger_depth() = 0) execute function announce_set_of_row();

create trigger variables_change after insert or update on variables
  for each row when (new.workspace_id is not null) execute function announce_of_workspace('vars');
create trigger variables_deleted_change after delete on variables
  for each row when (old.workspace_id is not null and pg_trigger_depth() = 0) execute function announce_of_workspace('vars');
create trigger variables_in_set_change after insert or update on variables
  for each row when (new.variable_set_id is not null) execute function announce_set_of_row();
create trigger variables_in_set_deleted_change after delete on variables
  for each row when (old.variable_set_id is not null and pg_trigger_depth() = 0) execute function announce_set_of_row();
`
