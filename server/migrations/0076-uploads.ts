/** Uploads of configurations that can be repeated and that end, and the names that sources have in the public API. */
export const up = `
-- of the archive, to tell an upload that is repeated; null before it is uploaded, and for those of earlier versions
alter table configuration_versions add column md5 text;
create index configuration_versions_pending_idx on configuration_versions (created_at) where status = 'pending';

alter table configuration_versions drop constraint configuration_versions_source_check;
alter table configuration_versions add constraint configuration_versions_source_check
  check (source in ('tfe-api', 'terraform', 'terraform+cloud'));
alter table runs drop constraint runs_source_check;
alter table runs add constraint runs_source_check
  check (source in ('tfe-api', 'tfe-ui', 'tfe-configuration-version', 'tfe-run-trigger', 'terraform', 'terraform+cloud'));
-- only a cloud block asks for structured output
update runs set source = 'terraform+cloud' where structured_output and source = 'tfe-api';
update configuration_versions v set source = 'terraform+cloud'
 where source = 'terraform' and exists (select from runs r where r.configuration_version_id = v.id and r.source = 'terraform+cloud');
`
