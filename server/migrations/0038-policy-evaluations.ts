import { WORK_KINDS } from '@groundstate/contract/agent'
import { POLICY_EVALUATION_STATUS } from '@groundstate/contract/policies'
import { literalList } from '../src/db/sql.ts'

/** Evaluations of policies in the task stages of runs, their outcomes, and the requests by which agents evaluate them. */
export const up = `
alter table agents drop constraint agents_accepts_check,
  add constraint agents_accepts_check check (cardinality(accepts) > 0 and accepts <@ array[${literalList(WORK_KINDS)}]);

create table policy_evaluations (
  id text primary key,
  task_stage_id text not null unique references task_stages on delete cascade,
  run_id text not null references runs on delete cascade,
  status text not null check (status in (${literalList(POLICY_EVALUATION_STATUS)})),
  status_timestamps jsonb not null,
  -- why the stage failed or warns
  message text,
  -- whether those permitted to may override a failure
  is_overridable boolean not null default false,
  -- the version of OPA that evaluated
  tool_version text,
  passed integer not null default 0,
  advisory_failed integer not null default 0,
  mandatory_failed integer not null default 0,
  errored integer not null default 0,
  overridden_by_user_id text references users on delete set null,
  override_comment text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index policy_evaluations_run_idx on policy_evaluations (run_id);
create index policy_evaluations_running_idx on policy_evaluations (updated_at) where status = 'running';
create index policy_evaluations_overridden_idx on policy_evaluations (overridden_by_user_id)
  where overridden_by_user_id is not null;

-- What the policies of one set returned. The rules are those of the evaluation: sets change later.
create table policy_set_outcomes (
  id text primary key,
  policy_evaluation_id text not null references policy_evaluations on delete cascade,
  position integer not null,
  policy_set_id text references policy_sets on delete set null,
  policy_set_version_id text references policy_set_versions on delete set null,
  policy_set_name text not null,
  policy_set_description text not null,
  overridable boolean not null,
  -- of the version; null for an upload
  commit_sha text,
  commit_url text,
  -- one object per policy
  outcomes jsonb not null,
  error text,
  passed integer not null,
  advisory_failed integer not null,
  mandatory_failed integer not null,
  errored integer not null,
  unique (policy_evaluation_id, position)
);
create index policy_set_outcomes_set_idx on policy_set_outcomes (policy_set_id) where policy_set_id is not null;
create index policy_set_outcomes_version_idx on policy_set_outcomes (policy_set_version_id)
  where policy_set_version_id is not null;

-- An evaluation for an agent of the pool. Deleted with its result, so its token is worthless then.
create table policy_requests (
  id text primary key,
  seq bigint not null generated always as identity,
  agent_pool_id text not null references agent_pools on delete cascade,
  policy_evaluation_id text unique references policy_evaluations on delete cascade,
  -- sealed: sets with their parameters, the version of OPA, the data of the run and the blobs
  request bytea not null,
  time_limit_ms integer not null,
  agent_name text,
  token_hash bytea,
  leased_at timestamptz,
  lease_expires_at timestamptz,
  leases integer not null default 0,
  created_at timestamptz not null
);
create index policy_requests_queue_idx on policy_requests (agent_pool_id, seq);
`
