/**
 * Uploads of configurations that can be repeated and that end, and the names that sources have in the public API. What is there
 * keeps its name, as `tfe-api` is one of them: a large table of runs is not rewritten while others serve from it.
 */
export const up = `
-- of the archive, to tell an upload that is repeated; null before it is uploaded, and for those of earlier versions
alter table configuration_versions add column md5 text;
create index configuration_versions_pending_idx on configuration_versions (created_at) where status = 'pending';

-- checked in 0083, without holding up anybody
alter table configuration_versions drop constraint configuration_versions_source_check;
alter table configuration_versions add constraint configuration_versions_source_check
  check (source in ('tfe-api', 'terraform', 'terraform+cloud')) not valid;
alter table runs drop constraint runs_source_check;
alter table runs add constraint runs_source_check
  check (source in ('tfe-api', 'tfe-ui', 'tfe-configuration-version', 'tfe-run-trigger', 'terraform', 'terraform+cloud')) not valid;
`
