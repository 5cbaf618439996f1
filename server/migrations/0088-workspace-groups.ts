/** What the row of a workspace says of its current run and of drift, and what is known of the README of a configuration. */
export const up = `
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

-- The first two are null without a current run, has_drift until a plan that only refreshes has ended.
alter table workspaces
  add column current_run_created_at timestamptz,
  add column run_group text check (run_group in ('needs_approval', 'errored', 'running', 'waiting', 'finished', 'stopped')),
  add column has_drift boolean;

-- Kept by the database, so that counts, filters and the order of workspaces read no run. No index has the columns: a change of them is cheap.
create function keep_run_group() returns trigger language plpgsql as $$
begin
  update workspaces set run_group = run_group(new.status) where id = new.workspace_id and current_run_id = new.id;
  return null;
end $$;
create trigger runs_group after update of status on runs
  for each row when (run_group(new.status) <> run_group(old.status))
  execute function keep_run_group();

create function keep_group_of_current_run() returns trigger language plpgsql as $$
begin
  update workspaces w set run_group = run_group(r.status), current_run_created_at = r.created_at
    from runs r where w.id = new.id and r.id = new.current_run_id;
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

-- Filled when somebody asks: a path of null says that there is no README in the folder and in the root.
create table configuration_readmes (
  configuration_version_id text not null references configuration_versions on delete cascade,
  working_directory text not null,
  path text,
  markdown text,
  is_cut boolean not null default false,
  primary key (configuration_version_id, working_directory)
);

-- What is known of an archive goes with it.
create function forget_readmes() returns trigger language plpgsql as $$
begin
  delete from configuration_readmes where configuration_version_id = new.id;
  return null;
end $$;
create trigger configuration_versions_readmes after update of status on configuration_versions
  for each row when (old.status = 'uploaded' and new.status <> 'uploaded')
  execute function forget_readmes();
`
