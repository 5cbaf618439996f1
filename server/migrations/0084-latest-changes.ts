/** When the current state was created; a workspace without one has changed last when it was created itself. In batches. */
export const up = `
update workspaces w set latest_change_at = sv.created_at
  from state_versions sv
 where sv.id = w.current_state_version_id
   and w.id in (
     select due.id from workspaces due join state_versions current on current.id = due.current_state_version_id
      where due.latest_change_at < current.created_at limit 500)
`
