/** Configurations that are fetched from repositories. */
export const up = `
-- where the commit was seen, for hosts that do not serve commits by name; the head of a pull request
alter table ingress_attributes add column commit_ref text;
-- one archive of a commit belongs to the versions of many workspaces
create index configuration_versions_shared_blob_idx on configuration_versions (blob_key)
  where blob_key like 'repository-archives/%';
create index configuration_versions_fetching_idx on configuration_versions (created_at) where status = 'fetching';
-- deliveries about the same branch or pull request are decided in the order of their arrival
create index vcs_deliveries_pending_idx on vcs_deliveries (repository_id, received_at, id) where status = 'pending';
`
