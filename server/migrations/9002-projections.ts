/** What the database keeps in step by triggers: counts, revisions, and what the rows of workspaces and keys say of runs. */
export const up = `
-- Kept by the database, so that the total of a list of ten thousand workspaces needs no count.
create function count_project_workspaces() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update projects set workspace_count = workspace_count + 1 where id = new.project_id;
  elsif tg_op = 'DELETE' then
    update projects set workspace_count = workspace_count - 1 where id = old.project_id;
  else
    -- in the order of ids, so that two moves in opposite directions don't wait for each other
    perform from projects where id in (old.project_id, new.project_id) order by id for no key update;
    update projects set workspace_count = workspace_count + case when id = new.project_id then 1 else -1 end
     where id in (old.project_id, new.project_id);
  end if;
  return null;
end $$;

-- Goes up with every change of who is in which team and of what teams reach, so that what was counted can be kept.
create function raise_access_revision() returns trigger language plpgsql as $$
begin
  update organizations set access_revision = access_revision + 1
   where id in (select t.organization_id from changed join teams t on t.id = changed.team_id);
  return null;
end $$;
create function raise_access_revision_of_row() returns trigger language plpgsql as $$
begin
  update organizations set access_revision = access_revision + 1 where id = old.organization_id;
  return null;
end $$;
create trigger team_members_granted after insert on team_members referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_members_revoked after delete on team_members referencing old table as changed
  for each statement execute function raise_access_revision();
create trigger team_projects_granted after insert on team_projects referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_projects_revoked after delete on team_projects referencing old table as changed
  for each statement execute function raise_access_revision();
create trigger team_workspaces_granted after insert on team_workspaces referencing new table as changed
  for each statement execute function raise_access_revision();
create trigger team_workspaces_revoked after delete on team_workspaces referencing old table as changed
  for each statement execute function raise_access_revision();
-- What a deleted team granted goes with it, when its organization can't be told from the grants any more.
create trigger teams_deleted after delete on teams
  for each row execute function raise_access_revision_of_row();
create trigger workspaces_moved_access after update on workspaces
  for each row when (old.project_id is distinct from new.project_id) execute function raise_access_revision_of_row();

create trigger workspaces_count after insert or delete on workspaces
  for each row execute function count_project_workspaces();
create trigger workspaces_move after update on workspaces
  for each row when (old.project_id is distinct from new.project_id) execute function count_project_workspaces();

-- Kept by the database, so that a list of workspaces reads no run. Whoever ends a run holds the row of its workspace.
create function workspace_kpis(of_workspace text) returns table (run_count int, failure_count int, plan_ms int, apply_ms int)
language sql stable as $$
  select nullif(count(*), 0)::int, case when count(*) > 0 then count(*) filter (where r.status = 'errored')::int end,
         -- a machine may sleep for longer than an integer has milliseconds
         case when avg(p.ms) > 2147483647 then 2147483647 else round(avg(p.ms)) end::int,
         case when avg(a.ms) > 2147483647 then 2147483647 else round(avg(a.ms)) end::int
    from (select id, status from runs
           where workspace_id = of_workspace and status in ('applied', 'errored') order by number desc limit 30) r
    left join lateral (select extract(epoch from ended_at - (status_timestamps->>'running')::timestamptz) * 1000 as ms
                         from phases where run_id = r.id and kind = 'plan') p on true
    left join lateral (select extract(epoch from ended_at - (status_timestamps->>'running')::timestamptz) * 1000 as ms
                         from phases where run_id = r.id and kind = 'apply') a on true
$$;

create function keep_workspace_kpis() returns trigger language plpgsql as $$
begin
  update workspaces w
     set kpi_run_count = k.run_count, kpi_failure_count = k.failure_count, kpi_plan_duration = k.plan_ms, kpi_apply_duration = k.apply_ms
    from workspace_kpis(new.workspace_id) k where w.id = new.workspace_id;
  return null;
end $$;
create trigger runs_kpis after update of status on runs
  for each row when (new.status in ('applied', 'errored') and old.status <> new.status)
  execute function keep_workspace_kpis();

-- What lists of workspaces filter and sort by, in narrow rows. No index has what changes, apart from the order by the latest change.
create table workspace_keys (
  id text primary key references workspaces on delete cascade,
  organization_id text not null,
  project_id text not null,
  name text not null,
  engine_version text not null,
  is_locked boolean not null,
  has_drift boolean not null,
  latest_change_at timestamptz not null,
  -- these three are null without a current run
  current_run_id text,
  current_run_created_at timestamptz,
  -- when the run came into its group (run_group); of a run that has ended its status
  run_status text,
  check ((current_run_id is null) = (run_status is null))
) with (fillfactor = 70);
create index workspace_keys_change_idx on workspace_keys (organization_id, latest_change_at, id);

create function keep_keys_of_new_workspace() returns trigger language plpgsql as $$
begin
  insert into workspace_keys
  select new.id, new.organization_id, new.project_id, new.name, new.engine_version, new.locked_by_type is not null,
         coalesce(new.has_drift, false), new.latest_change_at, r.id, r.created_at, r.status
    from (select) new_workspace left join runs r on r.id = new.current_run_id;
  return null;
end $$;
create trigger workspaces_new_keys after insert on workspaces for each row execute function keep_keys_of_new_workspace();

create function keep_workspace_keys() returns trigger language plpgsql as $$
begin
  update workspace_keys set organization_id = new.organization_id, project_id = new.project_id, name = new.name,
         engine_version = new.engine_version, is_locked = new.locked_by_type is not null, has_drift = coalesce(new.has_drift, false),
         latest_change_at = new.latest_change_at
   where id = new.id;
  return null;
end $$;
create trigger workspaces_keys
  after update of organization_id, project_id, name, engine_version, locked_by_type, has_drift, latest_change_at on workspaces
  for each row when (
    (new.organization_id, new.project_id, new.name, new.engine_version, new.locked_by_type is null, coalesce(new.has_drift, false),
      new.latest_change_at)
    is distinct from
    (old.organization_id, old.project_id, old.name, old.engine_version, old.locked_by_type is null, coalesce(old.has_drift, false),
      old.latest_change_at))
  execute function keep_workspace_keys();

-- The same table as RUN_GROUPS of the contract.
create function run_group(status text) returns text language sql immutable parallel safe as $$
  select case
    when status in ('planned', 'post_plan_awaiting_decision', 'post_plan_completed') then 'needs_approval'
    when status in ('pending', 'plan_queued', 'apply_queued') then 'waiting'
    when status = 'errored' then 'errored'
    when status in ('planned_and_finished', 'planned_and_saved', 'applied') then 'finished'
    when status in ('discarded', 'canceled', 'force_canceled') then 'stopped'
    else 'running' end
$$;

-- Kept by the database, so that counts, filters and the order of workspaces read no run. No index has the columns: a change of them is cheap.
create function keep_run_group() returns trigger language plpgsql as $$
begin
  update workspaces set run_group = run_group(new.status) where id = new.workspace_id and current_run_id = new.id;
  if found then update workspace_keys set run_status = new.status where id = new.workspace_id; end if;
  return null;
end $$;
create trigger runs_group after update of status on runs
  for each row when (new.status <> old.status and (run_group(new.status) <> run_group(old.status) or new.status in (
    'planned_and_finished', 'planned_and_saved', 'applied', 'discarded', 'canceled', 'force_canceled', 'errored')))
  execute function keep_run_group();

create function keep_group_of_current_run() returns trigger language plpgsql as $$
begin
  update workspaces w set run_group = run_group(r.status), current_run_created_at = r.created_at
    from runs r where w.id = new.id and r.id = new.current_run_id;
  update workspace_keys k set current_run_id = r.id, current_run_created_at = r.created_at, run_status = r.status
    from runs r where k.id = new.id and r.id = new.current_run_id;
  return null;
end $$;
create trigger workspaces_run_group after update of current_run_id on workspaces
  for each row when (new.current_run_id is distinct from old.current_run_id)
  execute function keep_group_of_current_run();

-- A plan that only refreshes says whether there is drift, and so does an apply: after it there is none. A plan with targets that finds
-- nothing has not looked everywhere.
create function keep_drift() returns trigger language plpgsql as $$
begin
  update workspaces set has_drift = new.status <> 'applied' and new.has_changes
   where id = new.workspace_id and (has_drift is not null or new.refresh_only) and (new.has_changes or new.target_addrs = '{}');
  return null;
end $$;
create trigger runs_drift after update of status on runs
  for each row when (
    (new.refresh_only and old.status = 'planning' and new.status not in ('plan_queued', 'errored', 'canceled', 'force_canceled'))
    or (new.status = 'applied' and old.status <> 'applied' and new.refresh and new.target_addrs = '{}'))
  execute function keep_drift();

-- What is known of an archive goes with it.
create function forget_readmes() returns trigger language plpgsql as $$
begin
  delete from configuration_readmes where configuration_version_id = new.id;
  return null;
end $$;
create trigger configuration_versions_readmes after update of status on configuration_versions
  for each row when (old.status = 'uploaded' and new.status <> 'uploaded')
  execute function forget_readmes();

create function keep_run_keys() returns trigger language plpgsql as $$
begin
  insert into run_keys (run_id, organization_id, seq, source, operations, message, created_at)
  values (new.id, new.organization_id, new.seq, new.source,
    run_operations(new.plan_only, new.save_plan, new.refresh_only, new.is_destroy, new.allow_empty_apply), new.message, new.created_at);
  return null;
end $$;
create trigger runs_keys after insert on runs for each row execute function keep_run_keys();
`
