/** Drops what earlier databases stored for settings that are refused today. A new database does not have them. */
export const up = `
alter table organizations drop column if exists assessments_enforced;
alter table workspaces drop column if exists migration_environment;
`
