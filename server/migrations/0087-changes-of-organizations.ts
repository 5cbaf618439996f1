/** A part of 0087-changes: organizations, and what is in them beside workspaces. */
export const ofOrganizations = `
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
`
