/**
 * What has to fit a database, an agent or a setting: which blob store belongs to the database, so that a server with another
 * one does not start on it; which engine a run requires; which tokens come from the settings, so that they end with them.
 */
export const up = `
alter table installation
  add column blob_store_id text,
  -- for people: where the store was at the last start
  add column blob_store_place text;

-- nobody has named an engine, and the agent that takes the run decides; servers of the version before take engine_product
alter table runs add column engine_is_open boolean not null default false;
create index runs_with_engine_idx on runs (workspace_id, number desc) where not engine_is_open;
-- null for agents that do not say so
alter table agents add column downloads_engines boolean;

alter table tokens add column from_setting boolean not null default false;
create index tokens_from_setting_idx on tokens (id) where from_setting;
update tokens set from_setting = true
 where kind = 'user' and description = 'ADMIN_TOKEN' and created_by_user_id = user_id
   and user_id in (select id from users where is_site_admin);
`
