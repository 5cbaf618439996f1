/** Finds archives and deliveries that are due. */
export const up = `
create index configuration_versions_kept_idx on configuration_versions (created_at, id) where status = 'uploaded';
create index task_deliveries_kept_idx on task_deliveries (sent_at, id);
`
