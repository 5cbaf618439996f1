/** Finds what of plans and applies is due. Apart from other changes, since plans can't be written while the indexes are built. */
export const up = `
create index phases_kept_log_idx on phases (ended_at, id) where log_size > 0 and log_deleted_at is null;
create index phases_kept_json_idx on phases (ended_at, id)
  where kind = 'plan' and ended_at is not null and json_deleted_at is null;
create index phases_kept_file_idx on phases (ended_at, id)
  where kind = 'plan' and ended_at is not null and file_deleted_at is null;
create index phases_kept_history_idx on phases (ended_at, id)
  where kind = 'plan' and json_deleted_at is not null and history_deleted_at is null;
`
