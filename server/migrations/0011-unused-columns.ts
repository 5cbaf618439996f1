/** Drops columns and indexes of earlier databases that nothing uses any more. A new database does not have them. */
export const up = `
alter table organizations drop column if exists assessments_enforced;
alter table workspaces drop column if exists migration_environment;
drop index if exists agent_jobs_unacknowledged_idx;
drop index if exists users_unconfirmed_email_idx;
`
