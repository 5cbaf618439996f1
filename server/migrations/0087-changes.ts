/**
 * Every change that a page shows is told to the servers, which pass it on to the pages that are open. The database tells it,
 * so that no statement can forget to. Rows that go with what they belong to are not told, the thing itself is; but those that
 * something else shows, too, are.
 */
export const up = `
-- The cursor is the same on every server, and so is the order of the signals. Equal signals of a transaction are sent once.
create function announce_change(of_organization text, change_type text, change_id text, of_workspace text, more jsonb default '{}')
returns void language plpgsql as $$
begin
  if of_organization is null or change_id is null then return; end if;
  perform pg_notify('groundstate', 'change ' || (jsonb_build_object('cursor', pg_current_xact_id()::text,
    'organization', of_organization, 'type', change_type, 'id', change_id)
    || case when of_workspace is null then '{}' else jsonb_build_object('workspace', of_workspace) end || more)::text);
end $$;

-- Who may see what is gone or has moved away can't be asked any more: the signal names the teams that could.
create function announce_to_teams(of_organization text, change_type text, change_id text, of_workspace text, teams text[])
returns void language plpgsql as $$
declare addressees text[] := array(select distinct team from unnest(teams) as given (team) order by team);
begin
  for batch in 0 .. greatest(0, cardinality(addressees) - 1) / 100 loop
    perform announce_change(of_organization, change_type, change_id, of_workspace,
      jsonb_build_object('teams', to_jsonb(addressees[batch * 100 + 1 : batch * 100 + 100])));
  end loop;
end $$;

-- Rows with a workspace and an id of their own; the type is the argument.
create function announce_of_workspace() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(w.organization_id, tg_argv[0], r.id, w.id) from workspaces w where w.id = r.workspace_id;
  return null;
end $$;

-- Rows that are shown as a part of their workspace, and of what else they belong to.
create function announce_workspace_of_row() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(w.organization_id, 'workspaces', w.id, w.id) from workspaces w where w.id = r.workspace_id;
  return null;
end $$;

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

-- Rows of an organization whose type is the argument.
create function announce_of_organization() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(r.organization_id, tg_argv[0], r.id, null);
  return null;
end $$;
create trigger tasks_change after insert or update on tasks
  for each row execute function announce_of_organization('tasks');
create trigger tasks_deleted_change after delete on tasks
  for each row when (pg_trigger_depth() = 0) execute function announce_of_organization('tasks');
create trigger agent_pools_change after insert or update on agent_pools
  for each row execute function announce_of_organization('agent-pools');
create trigger agent_pools_deleted_change after delete on agent_pools
  for each row when (pg_trigger_depth() = 0) execute function announce_of_organization('agent-pools');

create function announce_pool_of_row() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(p.organization_id, 'agent-pools', p.id, null) from agent_pools p where p.id = r.agent_pool_id;
  return null;
end $$;
create trigger agent_pool_projects_change after insert on agent_pool_projects
  for each row execute function announce_pool_of_row();
create trigger agent_pool_projects_deleted_change after delete on agent_pool_projects
  for each row when (pg_trigger_depth() = 0) execute function announce_pool_of_row();
create trigger agent_pool_workspaces_change after insert on agent_pool_workspaces
  for each row execute function announce_pool_of_row();
create trigger agent_pool_workspaces_deleted_change after delete on agent_pool_workspaces
  for each row when (pg_trigger_depth() = 0) execute function announce_pool_of_row();

create function announce_agent() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_change(p.organization_id, 'agents', r.id, null, jsonb_build_object('pool', p.id))
     from agent_pools p where p.id = r.agent_pool_id;
  return null;
end $$;
create trigger agents_created_change after insert on agents for each row execute function announce_agent();
-- An agent that says nothing new is told of when it was silent for so long that it counted as gone.
create trigger agents_change after update on agents for each row when (
    (old.name, old.version, old.engines, old.concurrency, old.accepts, old.exited_at, old.ip_address, old.agent_pool_id)
      is distinct from
    (new.name, new.version, new.engines, new.concurrency, new.accepts, new.exited_at, new.ip_address, new.agent_pool_id)
    or new.last_ping_at > old.last_ping_at + interval '60 seconds')
  execute function announce_agent();
create trigger agents_deleted_change after delete on agents
  for each row when (pg_trigger_depth() = 0) execute function announce_agent();
create function announce_busy_agent() returns trigger language plpgsql as $$
begin
  perform announce_change(p.organization_id, 'agents', coalesce(new.agent_id, old.agent_id), null,
      jsonb_build_object('pool', p.id)) from agent_pools p where p.id = new.agent_pool_id;
  return null;
end $$;
create trigger agent_jobs_change after update on agent_jobs
  for each row when (old.status <> new.status and coalesce(new.agent_id, old.agent_id) is not null)
  execute function announce_busy_agent();

create function announce_project() returns trigger language plpgsql as $$
begin
  perform announce_to_teams(new.organization_id, 'projects', new.id, null,
    array(select team_id from team_projects where project_id = new.id));
  return null;
end $$;
create function announce_deleted_project() returns trigger language plpgsql as $$
begin
  perform announce_to_teams(old.organization_id, 'projects', old.id, null,
    array(select team_id from team_projects where project_id = old.id));
  return old;
end $$;
create function announce_project_of_row() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_to_teams(p.organization_id, 'projects', p.id, null,
      array(select team_id from team_projects where project_id = p.id)) from projects p where p.id = r.project_id;
  return null;
end $$;
create trigger team_projects_change after insert or update on team_projects
  for each row execute function announce_project_of_row();
create trigger team_projects_deleted_change after delete on team_projects
  for each row when (pg_trigger_depth() = 0) execute function announce_project_of_row();
create trigger projects_created_change after insert on projects for each row execute function announce_project();
create trigger projects_change after update on projects
  for each row when (old.* is distinct from new.* and old.workspace_count = new.workspace_count)
  execute function announce_project();
create trigger projects_deleted_change before delete on projects
  for each row when (pg_trigger_depth() = 0) execute function announce_deleted_project();

-- The API's id of an organization is its name.
create function announce_organization() returns trigger language plpgsql as $$
begin
  perform announce_change(new.id, 'organizations', new.name, null);
  return null;
end $$;
create trigger organizations_change after update on organizations
  for each row when (old.* is distinct from new.* and old.access_revision = new.access_revision)
  execute function announce_organization();

-- Teams that are no secret are seen by all members.
create function announce_team_to(of_organization text, of_team text, visibility text) returns void language plpgsql as $$
begin
  if visibility = 'secret' then perform announce_to_teams(of_organization, 'teams', of_team, null, array[of_team]);
  else perform announce_change(of_organization, 'teams', of_team, null);
  end if;
end $$;
create function announce_team() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  perform announce_team_to(r.organization_id, r.id, r.visibility);
  return null;
end $$;
create trigger teams_change after insert or update on teams for each row execute function announce_team();
create trigger teams_deleted_change after delete on teams
  for each row when (pg_trigger_depth() = 0) execute function announce_team();
create function announce_teams_of_rows() returns trigger language plpgsql as $$
begin
  perform announce_team_to(t.organization_id, t.id, t.visibility)
     from (select distinct team_id from changed) c join teams t on t.id = c.team_id;
  return null;
end $$;
create trigger team_members_change after insert on team_members referencing new table as changed
  for each statement execute function announce_teams_of_rows();
create trigger team_members_deleted_change after delete on team_members referencing old table as changed
  for each statement execute function announce_teams_of_rows();
create trigger organization_memberships_change after insert or update on organization_memberships
  for each row execute function announce_of_organization('organization-memberships');
-- Those of a user who is deleted, too: users are not told of.
create function announce_memberships_of_rows() returns trigger language plpgsql as $$
begin
  perform announce_change(o.id, 'organization-memberships', c.id, null)
     from changed c join organizations o on o.id = c.organization_id;
  return null;
end $$;
create trigger organization_memberships_deleted_change after delete on organization_memberships
  referencing old table as changed for each statement execute function announce_memberships_of_rows();

create function announce_retention() returns trigger language plpgsql as $$
declare r record := coalesce(new, old);
begin
  if r.workspace_id is not null then
    perform announce_change(w.organization_id, 'workspaces', w.id, w.id) from workspaces w where w.id = r.workspace_id;
  else
    perform announce_change(o.id, 'organizations', o.name, null) from organizations o where o.id = r.organization_id;
  end if;
  return null;
end $$;
create trigger data_retention_policies_change after insert or update on data_retention_policies
  for each row execute function announce_retention();
create trigger data_retention_policies_deleted_change after delete on data_retention_policies
  for each row when (pg_trigger_depth() = 0) execute function announce_retention();

-- Whatever may take access away is told at once: the organization, or nothing where it may be any.
create function announce_access() returns trigger language plpgsql as $$
declare
  r record := coalesce(new, old);
  of_organization text := '';
begin
  if tg_argv[0] = 'id' then of_organization := r.id;
  elsif tg_argv[0] = 'organization' then of_organization := r.organization_id;
  elsif tg_argv[0] = 'team' then select organization_id into of_organization from teams where id = r.team_id;
  end if;
  if of_organization is not null then perform pg_notify('groundstate', 'access ' || of_organization); end if;
  return null;
end $$;
create trigger organizations_access after update on organizations
  for each row when (old.* is distinct from new.*) execute function announce_access('id');
create trigger organizations_deleted_access after delete on organizations
  for each row execute function announce_access('id');
create trigger teams_access after update on teams for each row execute function announce_access('organization');
create trigger team_projects_access after update on team_projects for each row execute function announce_access('team');
create trigger team_workspaces_access after update on team_workspaces
  for each row execute function announce_access('team');
create trigger organization_memberships_access after insert or update or delete on organization_memberships
  for each row execute function announce_access('organization');
create trigger sessions_access after delete on sessions for each row execute function announce_access('any');
create trigger tokens_access after delete on tokens
  for each row when (old.kind in ('user', 'team', 'organization')) execute function announce_access('any');
create trigger users_access after update on users
  for each row when (old.suspended_at is distinct from new.suspended_at) execute function announce_access('any');
create trigger users_deleted_access after delete on users for each row execute function announce_access('any');
`
