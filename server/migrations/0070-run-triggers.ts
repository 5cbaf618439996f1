/** Run triggers, and their firings: what an apply in one workspace starts in others. */
export const up = `
create table run_triggers (
  id text primary key,
  -- in the order of creation
  seq bigint not null generated always as identity,
  -- whose runs are started
  workspace_id text not null references workspaces on delete cascade,
  -- whose applies start them
  source_id text not null references workspaces on delete cascade,
  created_at timestamptz not null,
  unique (workspace_id, source_id),
  check (workspace_id <> source_id)
);
create index run_triggers_inbound_idx on run_triggers (workspace_id, seq);
create index run_triggers_outbound_idx on run_triggers (source_id, seq);

-- One row for each trigger of a workspace whose run was applied, written in the transaction of that apply.
create table trigger_firings (
  id bigint primary key generated always as identity,
  source_run_id text not null references runs on delete cascade,
  source_workspace_id text not null,
  -- the state of the source before and after its run
  before_state_version_id text,
  after_state_version_id text,
  -- whose run is started; kept when the workspace goes, so that the firing still says so
  workspace_id text not null,
  status text not null default 'waiting' check (status in ('waiting', 'fired', 'skipped')),
  -- for people: why it was skipped
  reason text,
  -- what it has started; firings that wait together start one run
  run_id text references runs on delete set null,
  -- when its run is to be started
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

alter table workspaces add column trigger_only_on_output_change boolean not null default false;
`
