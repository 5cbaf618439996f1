/**
 * What 0088 keeps of the current runs from before it. In batches. A group that is there already is newer than what the statement sees of
 * the run.
 */
export const up = `
update workspaces w set current_run_created_at = r.created_at, run_group = coalesce(w.run_group, run_group(r.status))
  from runs r
 where r.id = w.current_run_id
   and w.id in (
     select due.id from workspaces due
      where due.current_run_id is not null and due.current_run_created_at is null limit 500)
`
