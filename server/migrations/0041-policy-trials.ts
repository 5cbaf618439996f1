import { POLICY_TRIAL_RUN_STATUS, POLICY_TRIAL_STATUS } from '@groundstate/contract/policy-trials'
import { literalList } from '../src/db/sql.ts'

/** Evaluations of policies against past runs (`features/runs/policy-trials/`). */
export const up = `
create table policy_trials (
  id text primary key,
  -- in the order of creation
  seq bigint not null generated always as identity,
  organization_id text not null references organizations on delete cascade,
  policy_set_id text references policy_sets on delete cascade,
  -- whether the policies are those of an archive or of the set
  source text not null check (source in ('upload', 'policy-set')),
  status text not null check (status in (${literalList(POLICY_TRIAL_STATUS)})),
  error_message text,
  policies_path text not null default '',
  policy_tool_version text not null,
  -- sealed: the version of OPA and the policies with their parameters; null before an archive is accepted
  rules bytea,
  -- the archive of an upload; null before it is accepted
  blob_key text,
  -- runs of the last 30 days that are left out
  unreadable_runs integer not null default 0,
  planless_runs integer not null default 0,
  older_runs integer not null default 0,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (source = 'upload' or policy_set_id is not null),
  check (status <> 'running' or rules is not null)
);
create index policy_trials_set_idx on policy_trials (policy_set_id, seq desc) where policy_set_id is not null;
create index policy_trials_organization_idx on policy_trials (organization_id);
create index policy_trials_expiry_idx on policy_trials (created_at, id);
create index policy_trials_open_idx on policy_trials (updated_at) where status in ('pending', 'running');
create index policy_trials_user_idx on policy_trials (created_by_user_id) where created_by_user_id is not null;
create index policy_trials_blob_idx on policy_trials (blob_key) where blob_key is not null;
create unique index policy_trials_running_key on policy_trials (policy_set_id)
  where source = 'policy-set' and status = 'running';

create table policy_trial_runs (
  id text primary key,
  policy_trial_id text not null references policy_trials on delete cascade,
  -- newest first, or as requested
  position integer not null,
  run_id text not null references runs on delete cascade,
  status text not null default 'pending' check (status in (${literalList(POLICY_TRIAL_RUN_STATUS)})),
  overridable boolean not null default false,
  -- why nothing was evaluated
  error text,
  -- of policies that did not pass, one object per policy
  outcomes jsonb not null default '[]',
  tool_version text,
  passed integer not null default 0,
  advisory_failed integer not null default 0,
  mandatory_failed integer not null default 0,
  errored integer not null default 0,
  unique (policy_trial_id, position)
);
create index policy_trial_runs_run_idx on policy_trial_runs (run_id);

alter table policy_requests
  add column policy_trial_run_id text unique references policy_trial_runs on delete cascade,
  add check (policy_evaluation_id is null or policy_trial_run_id is null);
-- Runs wait for evaluations, but not for trials.
drop index policy_requests_queue_idx;
create index policy_requests_queue_idx on policy_requests (agent_pool_id, (policy_trial_run_id is not null), seq);
`
