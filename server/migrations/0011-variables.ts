/** Variables of workspaces and of sets, and where sets apply. */
export const up = `
create table variable_sets (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  -- the project that owns the set; null for the organization's own
  project_id text references projects on delete cascade,
  name text not null,
  description text not null default '',
  is_global boolean not null default false,
  priority boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index variable_sets_name_key on variable_sets (organization_id, lower(name));
create index variable_sets_list_idx on variable_sets (organization_id, name, id);
create index variable_sets_project_idx on variable_sets (project_id) where project_id is not null;

create table variable_set_workspaces (
  variable_set_id text not null references variable_sets on delete cascade,
  workspace_id text not null references workspaces on delete cascade,
  primary key (variable_set_id, workspace_id)
);
create index variable_set_workspaces_workspace_idx on variable_set_workspaces (workspace_id);

create table variable_set_projects (
  variable_set_id text not null references variable_sets on delete cascade,
  project_id text not null references projects on delete cascade,
  primary key (variable_set_id, project_id)
);
create index variable_set_projects_project_idx on variable_set_projects (project_id);

create table variables (
  id text primary key,
  workspace_id text references workspaces on delete cascade,
  variable_set_id text references variable_sets on delete cascade,
  key text not null,
  category text not null check (category in ('terraform', 'env')),
  -- a sensitive value is sealed with the server's secret under the variable's id, any other is plain text
  value text,
  sealed_value bytea,
  description text not null default '',
  hcl boolean not null default false,
  sensitive boolean not null default false,
  -- changes with every change of the variable
  version_id text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((workspace_id is null) <> (variable_set_id is null)),
  check (sensitive = (sealed_value is not null)),
  check (sensitive = (value is null))
);
create unique index variables_workspace_key on variables (workspace_id, category, key) where workspace_id is not null;
create unique index variables_variable_set_key on variables (variable_set_id, category, key)
  where variable_set_id is not null;
`
