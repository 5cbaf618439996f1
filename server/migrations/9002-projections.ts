/** What the database keeps in step by a trigger: the keys of runs. */
export const up = `
create function keep_run_keys() returns trigger language plpgsql as $$
begin
  insert into run_keys (run_id, organization_id, seq, source, operations, message, created_at)
  values (new.id, new.organization_id, new.seq, new.source,
    run_operations(new.plan_only, new.save_plan, new.refresh_only, new.is_destroy, new.allow_empty_apply), new.message, new.created_at);
  return null;
end $$;
create trigger runs_keys after insert on runs for each row execute function keep_run_keys();
`
