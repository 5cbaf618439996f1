/** What the row of a workspace says of its states and runs: which version is awaited, the latest change, how the last runs went. */
export const up = `
-- A version that awaits its content without the lock under which it was created holds up every unlock: none stays.
with abandoned as (
  select w.id as workspace_id, sv.id
    from workspaces w join state_versions sv on sv.id = w.pending_state_version_id
   where w.locked_by_id is distinct from sv.lock_holder_id
), w as (
  update workspaces w set state_revision = state_revision + 1, pending_state_version_id = null
    from abandoned where w.id = abandoned.workspace_id
)
update state_versions sv set status = 'discarded' from abandoned where sv.id = abandoned.id;

-- Of the last 30 runs that were applied or have failed; durations in ms. Null while there is none.
alter table workspaces
  add column kpi_run_count integer,
  add column kpi_failure_count integer,
  add column kpi_plan_duration integer,
  add column kpi_apply_duration integer;
create index runs_kpis_idx on runs (workspace_id, number desc) where status in ('applied', 'errored');

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

-- Kept by the database, so that a list of workspaces reads no run. Whoever ends a run holds the row of its workspace.
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
`
