/** The names of its workspace and organization that an engine has learned stay good until its run is over. */
export const up = `
-- what they were called when the plan began; null for plans from before this migration
alter table runs add column engine_workspace_name text;
alter table runs add column engine_organization_name text;
`
