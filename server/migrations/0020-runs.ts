/** Configuration versions, and runs with their plan, apply, log, events and comments. */
export const up = `
create table configuration_versions (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  -- in the order of creation
  seq bigint not null generated always as identity,
  status text not null check (status in ('pending', 'fetching', 'uploaded', 'archived', 'errored',
    'backing_data_soft_deleted', 'backing_data_permanently_deleted')),
  status_timestamps jsonb not null default '{}',
  source text not null check (source in ('tfe-api', 'terraform')),
  auto_queue_runs boolean not null,
  speculative boolean not null,
  provisional boolean not null,
  error text,
  error_message text,
  -- the archive; null until it is there, and once it is gone for good
  blob_key text,
  size bigint,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null
);
create unique index configuration_versions_list_key on configuration_versions (workspace_id, seq desc);

-- What the workspace's row knows of its runs: whoever changes a run holds this row, so that one look at it tells
-- whether a run may start.
alter table workspaces
  -- the one run that holds the workspace
  add column active_run_id text,
  -- runs in line behind it
  add column waiting_runs integer not null default 0 check (waiting_runs >= 0),
  -- runs ever created
  add column run_count integer not null default 0;

create sequence run_order;

create table runs (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  -- the workspace's, for the lists of an organization
  organization_id text not null,
  configuration_version_id text not null references configuration_versions,
  -- in the order of creation, over all workspaces
  seq bigint not null default nextval('run_order'),
  -- counts the runs of the workspace from 1
  number integer not null,
  status text not null check (status in ('pending', 'fetching', 'fetching_completed', 'pre_plan_running',
    'pre_plan_completed', 'queuing', 'plan_queued', 'planning', 'planned', 'post_plan_running',
    'post_plan_awaiting_decision', 'post_plan_completed', 'planned_and_finished', 'planned_and_saved', 'confirmed',
    'pre_apply_running', 'pre_apply_completed', 'queuing_apply', 'apply_queued', 'applying', 'post_apply_running',
    'post_apply_completed', 'applied', 'discarded', 'canceled', 'force_canceled', 'errored')),
  -- status → when it was reached
  status_timestamps jsonb not null default '{}',
  message text not null,
  source text not null check (source in ('tfe-api', 'tfe-ui', 'tfe-configuration-version', 'tfe-run-trigger')),
  trigger_reason text not null default 'manual',
  is_destroy boolean not null,
  refresh boolean not null,
  refresh_only boolean not null,
  plan_only boolean not null,
  save_plan boolean not null,
  auto_apply boolean not null,
  allow_empty_apply boolean not null,
  allow_config_generation boolean not null,
  debugging_mode boolean not null,
  target_addrs text[] not null default '{}',
  replace_addrs text[] not null default '{}',
  -- [{key, value}], each value an HCL expression
  variables jsonb not null default '[]',
  -- The workspace's settings as they were at the run's creation.
  engine_product text not null check (engine_product in ('terraform', 'tofu')),
  engine_version text not null,
  working_directory text not null,
  structured_output boolean not null,
  execution_mode text not null check (execution_mode in ('remote', 'agent')),
  agent_pool_id text not null,
  -- the stages of run tasks that the run has
  stages text[] not null default '{}',
  has_changes boolean not null default false,
  -- the state that the plan started from
  base_state_version_id text,
  -- in line for the workspace, at this place
  waits boolean not null default false,
  queue_order bigint not null default nextval('run_order'),
  -- holds the workspace
  occupies boolean not null default false,
  confirmed_at timestamptz,
  confirmed_by_user_id text references users on delete set null,
  cancel_requested_at timestamptz,
  canceled_by_user_id text references users on delete set null,
  force_cancel_available_at timestamptz,
  -- for people: why the run errored, when it is not in a log
  error text,
  created_by_user_id text references users on delete set null,
  -- the run whose apply started this one, and how many such links lead to it
  triggering_run_id text,
  triggering_workspace_id text,
  trigger_depth integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (not (is_destroy and refresh_only)),
  check (not (waits and occupies)),
  check (not (waits or occupies) or status not in ('planned_and_finished', 'planned_and_saved', 'applied', 'discarded',
    'canceled', 'force_canceled', 'errored'))
);
create unique index runs_workspace_key on runs (workspace_id, number desc);
create index runs_organization_idx on runs (organization_id, seq desc);
create unique index runs_occupies_key on runs (workspace_id) where occupies;
create index runs_queue_idx on runs (workspace_id, queue_order) where waits;
create index runs_unfinished_idx on runs (organization_id, seq) where status not in ('planned_and_finished',
  'planned_and_saved', 'applied', 'discarded', 'canceled', 'force_canceled', 'errored');
create index runs_configuration_version_idx on runs (configuration_version_id);

-- What agents do for a run: its plan and its apply.
create table phases (
  id text primary key,
  run_id text not null references runs on delete cascade,
  kind text not null check (kind in ('plan', 'apply')),
  status text not null default 'pending'
    check (status in ('pending', 'queued', 'running', 'finished', 'errored', 'canceled', 'unreachable')),
  status_timestamps jsonb not null default '{}',
  has_changes boolean not null default false,
  resource_additions integer,
  resource_changes integer,
  resource_destructions integer,
  resource_imports integer,
  generated_configuration boolean not null default false,
  -- the job that worked on it last: its artifacts count
  job_id text,
  -- The apply of an auto-applied run failed, and the status does not say so yet: a command line that reads the run
  -- before it has opened this log would never show it.
  held_until timestamptz,
  log_opened_at timestamptz,
  ended_at timestamptz,
  -- set when the log has moved from log_chunks to a blob; 0 for none
  log_size bigint,
  unique (run_id, kind)
);
create index phases_log_idx on phases (ended_at) where ended_at is not null and log_size is null;

create table log_chunks (
  phase_id text not null references phases on delete cascade,
  start_offset bigint not null check (start_offset >= 0),
  data bytea not null,
  primary key (phase_id, start_offset)
);
-- Reads cut pieces out of a chunk, which a compressed one would have to be unpacked for.
alter table log_chunks alter column data set storage external;

create table comments (
  id text primary key,
  run_id text not null references runs on delete cascade,
  seq bigint not null generated always as identity,
  body text not null,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null
);
create index comments_run_idx on comments (run_id, seq);

create table run_events (
  id text primary key,
  run_id text not null references runs on delete cascade,
  seq bigint not null generated always as identity,
  action text not null,
  description text,
  actor_user_id text references users on delete set null,
  comment_id text references comments on delete set null,
  created_at timestamptz not null
);
create index run_events_run_idx on run_events (run_id, seq);
create index run_events_comment_idx on run_events (comment_id) where comment_id is not null;
`
