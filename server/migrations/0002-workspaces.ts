/** Workspaces with their settings and lock, and what teams may do to them. */
export const up = `
create table workspaces (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  project_id text not null references projects,
  name text not null,
  description text,
  -- null follows the project's or the organization's default
  execution_mode text check (execution_mode in ('remote', 'local', 'agent')),
  agent_pool_id text references agent_pools on delete set null,
  engine_version text not null,
  working_directory text not null default '',
  auto_apply boolean not null default false,
  auto_apply_run_trigger boolean not null default false,
  allow_destroy_plan boolean not null default true,
  assessments_enabled boolean not null default false,
  file_triggers_enabled boolean not null default true,
  trigger_prefixes text[] not null default '{}',
  trigger_patterns text[] not null default '{}',
  queue_all_runs boolean not null default false,
  speculative_enabled boolean not null default true,
  structured_run_output_enabled boolean not null default true,
  global_remote_state boolean not null default false,
  project_remote_state boolean not null default false,
  auto_destroy_at timestamptz,
  auto_destroy_activity_duration text,
  inherits_project_auto_destroy boolean not null default true,
  migration_environment text,
  source text not null default 'tfe-api',
  source_name text,
  source_url text,
  vcs_repo jsonb,
  -- who holds the lock: one of a user, a team's token or a run
  locked_by_type text check (locked_by_type in ('user', 'team', 'run')),
  locked_by_id text,
  locked_reason text,
  locked_at timestamptz,
  current_run_id text,
  latest_run_id text,
  current_configuration_version_id text,
  current_state_version_id text,
  resource_count integer not null default 0,
  latest_change_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((locked_by_type is null) = (locked_by_id is null)),
  check ((locked_by_type is null) = (locked_at is null))
);
create unique index workspaces_name_key on workspaces (organization_id, lower(name));
create index workspaces_list_idx on workspaces (organization_id, name, id);
create index workspaces_change_idx on workspaces (organization_id, latest_change_at, id);
create index workspaces_project_idx on workspaces (project_id, name, id);
create index workspaces_agent_pool_idx on workspaces (agent_pool_id) where agent_pool_id is not null;

create table team_projects (
  id text primary key,
  team_id text not null references teams on delete cascade,
  project_id text not null references projects on delete cascade,
  access text not null check (access in ('read', 'write', 'maintain', 'admin', 'custom')),
  -- the rest counts for custom access only
  project_settings text not null default 'read' check (project_settings in ('read', 'update', 'delete')),
  project_teams text not null default 'none' check (project_teams in ('none', 'read', 'manage')),
  project_variable_sets text not null default 'none' check (project_variable_sets in ('none', 'read', 'write')),
  workspace_create boolean not null default false,
  workspace_move boolean not null default false,
  workspace_delete boolean not null default false,
  workspace_locking boolean not null default false,
  runs text not null default 'read' check (runs in ('read', 'plan', 'apply')),
  variables text not null default 'none' check (variables in ('none', 'read', 'write')),
  state_versions text not null default 'none' check (state_versions in ('none', 'read-outputs', 'read', 'write')),
  sentinel_mocks text not null default 'none' check (sentinel_mocks in ('none', 'read')),
  run_tasks boolean not null default false,
  policy_overrides boolean not null default false,
  created_at timestamptz not null,
  unique (team_id, project_id)
);
create index team_projects_project_idx on team_projects (project_id, created_at);

create table team_workspaces (
  id text primary key,
  team_id text not null references teams on delete cascade,
  workspace_id text not null references workspaces on delete cascade,
  access text not null check (access in ('read', 'plan', 'write', 'admin', 'custom')),
  -- the rest counts for custom access only
  runs text not null default 'read' check (runs in ('read', 'plan', 'apply')),
  variables text not null default 'none' check (variables in ('none', 'read', 'write')),
  state_versions text not null default 'none' check (state_versions in ('none', 'read-outputs', 'read', 'write')),
  sentinel_mocks text not null default 'none' check (sentinel_mocks in ('none', 'read')),
  workspace_locking boolean not null default false,
  run_tasks boolean not null default false,
  policy_overrides boolean not null default false,
  created_at timestamptz not null,
  unique (team_id, workspace_id)
);
create index team_workspaces_workspace_idx on team_workspaces (workspace_id, created_at);

-- Workspaces whose runs may read a workspace's state, beside the two flags on the workspace.
create table remote_state_consumers (
  workspace_id text not null references workspaces on delete cascade,
  consumer_id text not null references workspaces on delete cascade,
  primary key (workspace_id, consumer_id)
);
create index remote_state_consumers_consumer_idx on remote_state_consumers (consumer_id);

-- Tags of workspaces and projects. A binding without a value is a flat tag: both interfaces read this one table.
create table tag_bindings (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  workspace_id text references workspaces on delete cascade,
  project_id text references projects on delete cascade,
  key text not null,
  value text not null default '',
  created_at timestamptz not null,
  check ((workspace_id is null) <> (project_id is null))
);
create unique index tag_bindings_workspace_key on tag_bindings (workspace_id, key) where workspace_id is not null;
create unique index tag_bindings_project_key on tag_bindings (project_id, key) where project_id is not null;
create index tag_bindings_key_idx on tag_bindings (organization_id, key, value);
`
