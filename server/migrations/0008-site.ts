/** Samples of organizations. */
export const up = `
-- The parts of a sample, so that its removal finds them after a rename. A deleted part is null.
create table samples (
  id text primary key,
  organization_id text not null unique references organizations on delete cascade,
  project_id text references projects on delete set null,
  network_workspace_id text references workspaces on delete set null,
  app_workspace_id text references workspaces on delete set null,
  variable_set_id text references variable_sets on delete set null,
  task_id text references tasks on delete set null,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null
);
create index samples_project_idx on samples (project_id);
create index samples_network_workspace_idx on samples (network_workspace_id);
create index samples_app_workspace_idx on samples (app_workspace_id);
create index samples_variable_set_idx on samples (variable_set_id);
create index samples_task_idx on samples (task_id);
create index samples_created_by_user_idx on samples (created_by_user_id);
`
