/**
 * What lists of workspaces filter and sort by, in narrow rows of their own: reading all rows of `workspaces` for that takes six times as
 * long. No index has what changes, so that a change is cheap. The triggers keep both in step; workspaces and runs can't be written while
 * the rows are made, so that nothing changes in between.
 */
export const up = `
lock table workspaces, runs in share row exclusive mode;

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

insert into workspace_keys
select w.id, w.organization_id, w.project_id, w.name, w.engine_version, w.locked_by_type is not null, coalesce(w.has_drift, false),
       w.latest_change_at, r.id, r.created_at, r.status
  from workspaces w left join runs r on r.id = w.current_run_id;
create index workspace_keys_organization_idx on workspace_keys (organization_id);
analyze workspace_keys;

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

-- As in 0088, and the keys.
create or replace function keep_run_group() returns trigger language plpgsql as $$
begin
  update workspaces set run_group = run_group(new.status) where id = new.workspace_id and current_run_id = new.id;
  if found then update workspace_keys set run_status = new.status where id = new.workspace_id; end if;
  return null;
end $$;
drop trigger runs_group on runs;
create trigger runs_group after update of status on runs
  for each row when (new.status <> old.status and (run_group(new.status) <> run_group(old.status) or new.status in (
    'planned_and_finished', 'planned_and_saved', 'applied', 'discarded', 'canceled', 'force_canceled', 'errored')))
  execute function keep_run_group();

create or replace function keep_group_of_current_run() returns trigger language plpgsql as $$
begin
  update workspaces w set run_group = run_group(r.status), current_run_created_at = r.created_at
    from runs r where w.id = new.id and r.id = new.current_run_id;
  update workspace_keys k set current_run_id = r.id, current_run_created_at = r.created_at, run_status = r.status
    from runs r where k.id = new.id and r.id = new.current_run_id;
  return null;
end $$;
`
