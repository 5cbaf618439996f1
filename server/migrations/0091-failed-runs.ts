/** What has failed lately. Apart from other changes, since runs can't be written while the index is built. */
export const up = `
create index runs_failed_idx on runs (organization_id, updated_at desc) where status = 'errored';
`
