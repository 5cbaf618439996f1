import { RUN_STATUS } from '@groundstate/contract/run-status'
import { literalList } from '../src/db/sql.ts'

/** Workspaces with their settings and lock, variables, tags, and the access of teams. */
export const up = `
-- Closed sets are domains if rows change often: PostgreSQL parses the checks of a table for each statement that writes it, which
-- takes 30 us for the run statuses, but that of a domain once per session.
create domain run_status as text check (value in (${literalList(RUN_STATUS)}));
create domain lock_holder_type as text check (value in ('user', 'team', 'run'));
create domain execution_mode as text check (value in ('remote', 'local', 'agent'));
create domain whole_number as integer check (value >= 0);

-- The columns by which lists of workspaces are filtered and sorted come first: a row is read up to the last required column.
-- Locks, runs and states change a row often: free space on its page saves index updates.
create table workspaces (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  project_id text not null references projects,
  name text not null,
  -- the holder of the lock: a user, a team's token or a run
  locked_by_type lock_holder_type,
  -- when the current state was created; without a state, when the workspace was
  latest_change_at timestamptz not null,
  current_run_id text,
  -- null without a current run
  current_run_created_at timestamptz,
  -- null while it is not final, so that few changes of a run write its workspace
  current_run_final_status run_status,
  -- null until a refresh-only plan has ended
  has_drift boolean,
  engine_version text not null,
  -- The CLI sets its own version for each workspace that it creates; since no user selected it, any engine is suitable.
  engine_version_required boolean not null default false,

  locked_by_id text,
  locked_reason text,
  locked_at timestamptz,

  -- Every change of a run locks the row of its workspace, which decides whether a run may start.
  latest_run_id text,
  -- the run that occupies the workspace
  active_run_id text,
  -- runs queued behind it
  waiting_runs whole_number not null default 0,
  -- runs ever created
  run_count integer not null default 0,
  current_configuration_version_id text,

  -- Every write of state compares these and the lock: one row decides whether a version may be
  -- added, and one update of it makes the version current.
  current_state_version_id text,
  -- increases with every change to the workspace's states; also the order of its history
  state_revision bigint not null default 0,
  state_version_count integer not null default 0,
  -- the newest version while its content is awaited
  pending_state_version_id text,
  -- the newest finalized version: the current one, or a snapshot that becomes current when the workspace is unlocked
  latest_state_version_id text,
  latest_state_serial bigint,
  latest_state_md5 text,
  latest_state_lineage text,
  resource_count integer not null default 0,

  -- Of the last 30 runs that were applied or failed; durations in ms. Null if there are none.
  kpi_run_count integer,
  kpi_failure_count integer,
  kpi_plan_duration integer,
  kpi_apply_duration integer,

  description text,
  -- null uses the default of the project or the organization
  execution_mode execution_mode,
  agent_pool_id text,
  working_directory text not null default '',
  auto_apply boolean not null default false,
  auto_apply_run_trigger boolean not null default false,
  trigger_only_on_output_change boolean not null default false,
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
  source text not null default 'tfe-api',
  source_name text,
  source_url text,
  vcs_repo jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (num_nulls(locked_by_type, locked_by_id, locked_at) in (0, 3))
) with (fillfactor = 75);
create unique index workspaces_name_key on workspaces (organization_id, lower(name));
create index workspaces_list_idx on workspaces (organization_id, name, id);
create index workspaces_project_idx on workspaces (project_id);
create index workspaces_agent_pool_idx on workspaces (agent_pool_id) where agent_pool_id is not null;

create table team_projects (
  id text primary key,
  team_id text not null references teams on delete cascade,
  project_id text not null references projects on delete cascade,
  access text not null check (access in ('read', 'write', 'maintain', 'admin', 'custom')),
  -- the remaining columns are used for custom access only
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
  -- the remaining columns are used for custom access only
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

-- Workspaces whose runs may read a workspace's state, in addition to the two flags on the workspace.
create table remote_state_consumers (
  workspace_id text not null references workspaces on delete cascade,
  consumer_id text not null references workspaces on delete cascade,
  primary key (workspace_id, consumer_id)
);
create index remote_state_consumers_consumer_idx on remote_state_consumers (consumer_id);

-- Tags of workspaces and projects, for both APIs. A binding without a value is a flat tag.
create table tag_bindings (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  workspace_id text references workspaces on delete cascade,
  project_id text references projects on delete cascade,
  key text not null,
  value text not null default '',
  -- created as a binding: effective even without a value, unlike a flat tag
  is_binding boolean not null default false,
  -- In the older API, a tag of an organization has an id that all workspaces with the tag share.
  tag_id text not null generated always as ('tag-' || substr(md5(organization_id || '/' || key), 1, 16)) stored,
  created_at timestamptz not null,
  check ((workspace_id is null) <> (project_id is null))
);
create unique index tag_bindings_workspace_key on tag_bindings (workspace_id, key) where workspace_id is not null;
create unique index tag_bindings_project_key on tag_bindings (project_id, key) where project_id is not null;
create index tag_bindings_key_idx on tag_bindings (organization_id, key, value);
create index tag_bindings_tag_idx on tag_bindings (tag_id);

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
  check (sensitive = (value is null)),
  -- checked at the end of a statement, which may exchange keys
  constraint variables_workspace_key unique (workspace_id, category, key) deferrable,
  constraint variables_variable_set_key unique (variable_set_id, category, key) deferrable
);
`
