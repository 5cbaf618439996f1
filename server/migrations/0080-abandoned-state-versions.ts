/** State versions that await their content without the lock under which they were created hold up every unlock: none stays. */
export const up = `
with abandoned as (
  select w.id as workspace_id, sv.id
    from workspaces w join state_versions sv on sv.id = w.pending_state_version_id
   where w.locked_by_id is distinct from sv.lock_holder_id
), w as (
  update workspaces w set state_revision = state_revision + 1, pending_state_version_id = null
    from abandoned where w.id = abandoned.workspace_id
)
update state_versions sv set status = 'discarded' from abandoned where sv.id = abandoned.id;
`
