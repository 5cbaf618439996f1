/** The keys of the runs from before 0100. Apart from the trigger, which locks the runs. */
export const up = `
insert into run_keys (run_id, organization_id, seq, source, operations, message, created_at)
select id, organization_id, seq, source, run_operations(plan_only, save_plan, refresh_only, is_destroy, allow_empty_apply), message, created_at
  from runs
    on conflict do nothing
`
