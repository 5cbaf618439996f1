import { FINAL_STATUSES, KPI_STATUSES, PHASE_STATUS, RUN_GROUPS } from '@groundstate/contract/run-status'
import { TASK_STAGE_STATUS } from '@groundstate/contract/task-stages'
import { literalList } from '../src/db/sql.ts'

/** Configuration versions, runs and their parts, agent jobs, and run triggers. */
export const up = `
create table configuration_versions (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  -- in the order of creation
  seq bigint not null generated always as identity,
  status text not null check (status in ('pending', 'fetching', 'uploaded', 'archived', 'errored',
    'backing_data_soft_deleted', 'backing_data_permanently_deleted')),
  status_timestamps jsonb not null default '{}',
  source text not null check (source in ('tfe-api', 'terraform', 'terraform+cloud')),
  auto_queue_runs boolean not null,
  speculative boolean not null,
  provisional boolean not null,
  error text,
  error_message text,
  -- the archive; null before the upload and after permanent deletion
  blob_key text,
  size bigint,
  -- of the archive, to recognise a repeated upload; null before the upload
  md5 text,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null
);
create unique index configuration_versions_list_key on configuration_versions (workspace_id, seq desc);
create index configuration_versions_pending_idx on configuration_versions (created_at) where status = 'pending';
create index configuration_versions_kept_idx on configuration_versions (created_at, id) where status = 'uploaded';
-- Created last, like that of state versions.
create unique index configuration_versions_workspace_key on configuration_versions (workspace_id, id);
-- With the id of the workspace, like the keys of its states.
alter table workspaces add foreign key (id, current_configuration_version_id) references configuration_versions (workspace_id, id);

-- Filled on demand: a null path means that there is no README in the directory and the root.
create table configuration_readmes (
  configuration_version_id text not null references configuration_versions on delete cascade,
  working_directory text not null,
  path text,
  markdown text,
  is_cut boolean not null default false,
  primary key (configuration_version_id, working_directory)
);

create sequence run_order;

create domain run_source as text check (value in ('tfe-api', 'tfe-ui', 'tfe-configuration-version', 'tfe-run-trigger', 'terraform',
  'terraform+cloud'));
create domain run_execution_mode as text check (value in ('remote', 'agent'));
create domain engine_product as text check (value in ('terraform', 'tofu'));
create domain phase_kind as text check (value in ('plan', 'apply'));
create domain phase_status as text check (value in (${literalList(PHASE_STATUS)}));
create domain agent_job_status as text check (value in ('queued', 'running', 'ended'));
create domain agent_job_command as text check (value in ('continue', 'cancel', 'force-cancel'));
-- 0 for an apply, 1 for a plan that may be applied, 2 for one that is plan-only
create domain agent_job_class as smallint check (value in (0, 1, 2));
create domain task_stage_status as text check (value in (${literalList(TASK_STAGE_STATUS)}));

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
  status run_status not null,
  -- status → when it was reached
  status_timestamps jsonb not null default '{}',
  message text not null,
  source run_source not null,
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
  engine_product engine_product not null,
  engine_version text not null,
  engine_version_required boolean not null default false,
  -- no engine was selected, so the agent that takes the run decides
  engine_is_open boolean not null default false,
  working_directory text not null,
  structured_output boolean not null,
  execution_mode run_execution_mode not null,
  agent_pool_id text not null,
  -- Names at the start of the plan, which stay valid for the engine until the end of the run.
  engine_workspace_name text,
  engine_organization_name text,
  -- the stages of run tasks that the run has
  stages text[] not null default '{}',
  has_changes boolean not null default false,
  -- the state that the plan started from; it may have been deleted since
  base_state_version_id text,
  -- position in the queue of the workspace
  waits boolean not null default false,
  queue_order bigint not null default nextval('run_order'),
  -- occupies the workspace
  occupies boolean not null default false,
  confirmed_at timestamptz,
  confirmed_by_user_id text references users on delete set null,
  cancel_requested_at timestamptz,
  canceled_by_user_id text references users on delete set null,
  force_cancel_available_at timestamptz,
  -- for users: why the run errored, if that is not in a log
  error text,
  created_by_user_id text references users on delete set null,
  -- the run whose apply started this one (possibly deleted), and the length of the chain of triggers
  triggering_run_id text,
  triggering_workspace_id text,
  trigger_depth integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (not (is_destroy and refresh_only)),
  check (not (waits and occupies)),
  check (not (waits or occupies) or status not in (${literalList(FINAL_STATUSES)}))
);
create unique index runs_workspace_key on runs (workspace_id, number desc);
create unique index runs_occupies_key on runs (workspace_id) where occupies;
create index runs_queue_idx on runs (workspace_id, queue_order) where waits;
create index runs_configuration_version_idx on runs (configuration_version_id);
create index runs_with_engine_idx on runs (workspace_id, number desc) where not engine_is_open;
create index runs_kpis_idx on runs (workspace_id, number desc) where status in (${literalList(KPI_STATUSES)});
create index runs_organization_idx on runs (organization_id, seq desc);
create index runs_updated_idx on runs (organization_id, updated_at desc);
create index runs_failed_idx on runs (organization_id, updated_at desc) where status in (${literalList(RUN_GROUPS.errored)});
create index runs_pool_idx on runs (agent_pool_id, seq desc) where agent_pool_id <> 'apool-builtin';
-- Index-only scans for the number of waiting runs and the queue position of a run.
create index runs_line_idx on runs (organization_id, seq) include (status, waits) where status not in (${literalList(FINAL_STATUSES)});
-- Combinations of filters, each in list order. Columns rather than expressions: each change of a run
-- updates the indexes, and would evaluate the expressions.
create index runs_kinds_idx on runs (organization_id, source, plan_only, save_plan, refresh_only, is_destroy, allow_empty_apply,
  status, seq desc);
create index runs_user_kinds_idx on runs (organization_id, created_by_user_id, source, plan_only, save_plan, refresh_only, is_destroy,
  allow_empty_apply, status, seq desc) where created_by_user_id is not null;

alter table state_versions add foreign key (run_id) references runs on delete set null;
alter table tokens add foreign key (run_id) references runs on delete cascade;

-- Immutable columns by which lists find runs. Each of the many changes of a run updates all indexes of runs; these
-- are updated once.
create table run_keys (
  run_id text not null references runs on delete cascade,
  -- The run's workspace, organization and number.
  workspace_id text not null,
  organization_id text not null,
  seq bigint not null,
  -- the message for searches (features/runs/runs/message-store.ts)
  words text not null,
  created_at timestamptz not null,
  primary key (run_id, workspace_id)
);
create index run_keys_created_idx on run_keys (organization_id, created_at desc);
create index run_keys_words_idx on run_keys using gin (words gin_trgm_ops) with (gin_pending_list_limit = 256);

-- With the id of the workspace, as the keys of its states, and to run_keys: an index of runs would be written with each change of a run.
alter table workspaces
  add foreign key (id, current_run_id) references run_keys (workspace_id, run_id),
  add foreign key (id, active_run_id) references run_keys (workspace_id, run_id),
  add foreign key (id, latest_run_id) references run_keys (workspace_id, run_id);

-- The phases of a run: its plan and its apply.
create table phases (
  id text primary key,
  run_id text not null references runs on delete cascade,
  kind phase_kind not null,
  status phase_status not null default 'pending',
  status_timestamps jsonb not null default '{}',
  has_changes boolean not null default false,
  resource_additions integer,
  resource_changes integer,
  resource_destructions integer,
  resource_imports integer,
  generated_configuration boolean not null default false,
  -- the latest job, whose artifacts are used; the id is kept when retention deletes the job
  job_id text,
  -- until then, the status does not show that the apply failed: see runs/deferral.ts
  deferred_until timestamptz,
  -- when the plan was reported without its JSON; null once the JSON arrived, or if it was reported with it
  documents_pending_since timestamptz,
  -- why the JSON is unavailable
  documents_error text,
  ended_at timestamptz,
  -- set when the log was moved from log_chunks to a blob; 0 for an empty log
  log_size bigint,
  -- When retention has deleted the log,
  log_deleted_at timestamptz,
  -- a plan as JSON and the configuration that it wrote,
  json_deleted_at timestamptz,
  -- the engine's plan file, which is not needed after the run,
  file_deleted_at timestamptz,
  -- and the run's events and jobs.
  history_deleted_at timestamptz,
  unique (run_id, kind)
);
create index phases_log_idx on phases (ended_at) where ended_at is not null and log_size is null;
create index phases_kept_log_idx on phases (ended_at, id) where log_size > 0 and log_deleted_at is null;
create index phases_kept_json_idx on phases (ended_at, id)
  where kind = 'plan' and ended_at is not null and json_deleted_at is null;
create index phases_kept_file_idx on phases (ended_at, id)
  where kind = 'plan' and ended_at is not null and file_deleted_at is null;
create index phases_kept_history_idx on phases (ended_at, id)
  where kind = 'plan' and json_deleted_at is not null and history_deleted_at is null;

create table log_chunks (
  phase_id text not null references phases on delete cascade,
  start_offset bigint not null check (start_offset >= 0),
  data bytea not null,
  primary key (phase_id, start_offset)
);
-- Not compressed, since reads take slices of a chunk.
alter table log_chunks alter column data set storage external;

-- One attempt at a plan or an apply. A running job is leased to an agent until lease_expires_at. A queued job is in the queue
-- of its pool by (class, tag, seq).
create table agent_jobs (
  id text primary key,
  run_id text not null references runs on delete cascade,
  phase_id text not null references phases on delete cascade,
  -- the run's
  organization_id text not null,
  workspace_id text not null,
  kind phase_kind not null,
  -- a pool may be deleted once its jobs have ended
  agent_pool_id text not null,
  seq bigint not null generated always as identity,
  class agent_job_class not null,
  -- for fair sharing of the pool between organizations
  tag bigint not null,
  -- for fair sharing between the workspaces of an organization
  round integer not null,
  -- the engine of the job, so that jobs for other agents can be skipped
  requested_engine text not null default '',
  attempt integer not null,
  status agent_job_status not null,
  -- the agent that still has the run's working directory
  preferred_agent_id text,
  -- null once the agent is deleted, possibly before its lost lease is noticed
  agent_id text references agents on delete set null,
  -- The id and name of that agent, kept after its deletion.
  executed_by text,
  agent_name text,
  -- SHA-256 of the job's token
  token_hash bytea,
  command agent_job_command not null default 'continue',
  -- offset of the agent's log in the log of the phase
  log_base bigint not null default 0,
  queued_at timestamptz not null,
  leased_at timestamptz,
  -- lease duration that the agent knows
  lease_ms integer not null default 30000,
  lease_expires_at timestamptz,
  -- Deadline of the acknowledgement, since the response to the claim may be lost. Null once acknowledged, and for agents
  -- that do not acknowledge jobs.
  ack_due_at timestamptz,
  -- when its lease was found to have expired
  lost_at timestamptz,
  -- when the late result of a lost apply arrived
  late_result_at timestamptz,
  ended_at timestamptz,
  check (status <> 'running' or (executed_by is not null and token_hash is not null and lease_expires_at is not null))
);
-- Each claim and each end of a job leaves a dead row where the next claim starts to read.
alter table agent_jobs set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
create unique index agent_jobs_live_key on agent_jobs (run_id) where status <> 'ended';
create index agent_jobs_run_idx on agent_jobs (run_id);
create index agent_jobs_phase_idx on agent_jobs (phase_id, seq);
create index agent_jobs_lease_idx on agent_jobs (lease_expires_at) where status = 'running';
create index agent_jobs_agent_idx on agent_jobs (agent_id, status) where agent_id is not null;
create index agent_jobs_lost_idx on agent_jobs (phase_id) where lost_at is not null and late_result_at is null;
-- Claims are index-only scans, however long the queue is.
create index agent_jobs_queue_idx on agent_jobs (agent_pool_id, class, tag, seq) where status = 'queued';
create index agent_jobs_organization_queue_idx on agent_jobs (agent_pool_id, class, organization_id, round, tag, seq)
  where status = 'queued';
create index agent_jobs_engine_queue_idx on agent_jobs (agent_pool_id, class, organization_id, requested_engine, round, tag, seq)
  where status = 'queued';
create index agent_jobs_workspace_queue_idx on agent_jobs (agent_pool_id, class, workspace_id, tag) where status = 'queued';
-- An agent can only reserve its pool's jobs.
create index agent_jobs_reserved_idx on agent_jobs (agent_pool_id, preferred_agent_id, seq)
  where status = 'queued' and preferred_agent_id is not null;
create index agent_jobs_pool_running_idx on agent_jobs (agent_pool_id, class, tag) where status = 'running';
create index agent_jobs_organization_running_idx on agent_jobs (organization_id) where status = 'running';

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

-- The task stages of a run.
create table task_stages (
  id text primary key,
  run_id text not null references runs on delete cascade,
  stage task_stage_name not null,
  -- in the order of the run
  position smallint not null,
  status task_stage_status not null default 'pending',
  status_timestamps jsonb not null default '{}',
  -- for users: which task decided, and why
  message text,
  -- the result stops the run, which does not show it until then
  deferred_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index task_stages_run_key on task_stages (run_id, position);
alter table task_results
  add foreign key (run_id) references runs on delete cascade,
  add foreign key (task_stage_id) references task_stages on delete cascade;

create table run_triggers (
  id text primary key,
  -- in the order of creation
  seq bigint not null generated always as identity,
  -- the triggered workspace
  workspace_id text not null references workspaces on delete cascade,
  -- the source workspace
  source_id text not null references workspaces on delete cascade,
  created_at timestamptz not null,
  last_fired_at timestamptz,
  unique (workspace_id, source_id),
  check (workspace_id <> source_id)
);
create index run_triggers_inbound_idx on run_triggers (workspace_id, seq);
create index run_triggers_outbound_idx on run_triggers (source_id, seq);

-- Firings of run triggers: one row for each trigger of a workspace whose run was applied, written in the
-- transaction of that apply.
create table trigger_firings (
  id bigint primary key generated always as identity,
  source_run_id text not null references runs on delete cascade,
  -- the state of the source before and after its run; either may have been deleted since
  before_state_version_id text,
  after_state_version_id text,
  -- the triggered workspace; kept after its deletion
  workspace_id text not null,
  status text not null default 'waiting' check (status in ('waiting', 'fired', 'skipped')),
  -- for users: why it was skipped
  reason text,
  -- the started run; firings that wait together start one
  run_id text references runs on delete set null,
  -- when to start the run
  fire_at timestamptz not null,
  created_at timestamptz not null,
  decided_at timestamptz,
  unique (source_run_id, workspace_id),
  check ((status = 'skipped') = (reason is not null)),
  check ((status = 'waiting') = (decided_at is null)),
  check (run_id is null or status = 'fired')
);
create index trigger_firings_waiting_idx on trigger_firings (workspace_id, id) where status = 'waiting';
create index trigger_firings_due_idx on trigger_firings (fire_at) where status = 'waiting';
create index trigger_firings_run_idx on trigger_firings (run_id, id) where run_id is not null;
`
