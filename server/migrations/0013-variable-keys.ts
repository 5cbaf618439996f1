/** Replaces the unique indexes of variable keys in earlier databases: they reject an update that exchanges keys. */
export const up = `
alter table variables drop constraint if exists variables_workspace_key;
alter table variables drop constraint if exists variables_variable_set_key;
drop index if exists variables_workspace_key, variables_variable_set_key;
alter table variables
  add constraint variables_workspace_key unique (workspace_id, category, key) deferrable,
  add constraint variables_variable_set_key unique (variable_set_id, category, key) deferrable;
`
