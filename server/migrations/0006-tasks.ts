import { STAGES } from '@groundstate/contract/run-tasks'
import { TASK_RESULT_STATUS } from '@groundstate/contract/task-results'
import { literalList } from '../src/db/sql.ts'

/** Run tasks of organizations, their attachment to workspaces, their requests and results. */
export const up = `
create domain task_stage_name as text check (value in (${literalList(STAGES)}));
create domain task_result_status as text check (value in (${literalList(TASK_RESULT_STATUS)}));
create domain enforcement_level as text check (value in ('advisory', 'mandatory'));

create table tasks (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  url text not null,
  description text,
  category text not null default 'task' check (category in ('task')),
  -- sealed
  hmac_key bytea,
  -- PEM of authorities to trust in addition to the public ones
  ca_certificates text,
  enabled boolean not null default true,
  -- no action on delete: without its pool, the task would be requested from the server's network
  agent_pool_id text references agent_pools,
  -- applies to every workspace of the organization
  global_enabled boolean not null default false,
  global_stages text[] not null default '{}',
  global_enforcement_level enforcement_level not null default 'advisory',
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index tasks_name_key on tasks (organization_id, lower(name));
create index tasks_list_idx on tasks (organization_id, name, id);
create index tasks_global_idx on tasks (organization_id) where global_enabled;
create index tasks_agent_pool_idx on tasks (agent_pool_id) where agent_pool_id is not null;

create table workspace_tasks (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  -- no action on delete: an attached task cannot be deleted
  task_id text not null references tasks,
  enforcement_level enforcement_level not null,
  stages text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index workspace_tasks_key on workspace_tasks (workspace_id, task_id);
create index workspace_tasks_list_idx on workspace_tasks (workspace_id, created_at, id);
create index workspace_tasks_task_idx on workspace_tasks (task_id, created_at, id);

create table task_results (
  id text primary key,
  task_stage_id text not null,
  run_id text not null,
  stage task_stage_name not null,
  -- The task at the creation of the run; it may have been deleted since.
  task_id text not null,
  task_name text not null,
  task_url text not null,
  workspace_task_id text,
  agent_pool_id text,
  enforcement_level enforcement_level not null,
  status task_result_status not null default 'pending',
  status_timestamps jsonb not null default '{}',
  message text,
  url text,
  outcomes_count integer not null default 0,
  -- the number of outcomes by the most severe level of their tags
  outcome_levels jsonb not null default '{}',
  -- the receiver's token, sealed, as long as it is valid
  access_token bytea,
  started_at timestamptz,
  -- deadline of the final callback, after which the result is errored
  deadline_at timestamptz,
  called_back_at timestamptz,
  delivered_at timestamptz,
  attempts integer not null default 0,
  -- when to send the request, or to retry it; null if it must not be sent
  delivery_due_at timestamptz,
  -- lease of the process that sends the request
  lease_expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (status <> 'running' or (deadline_at is not null and started_at is not null)),
  check (delivery_due_at is null or status = 'running')
);
create index task_results_stage_idx on task_results (task_stage_id, task_name, id);
create index task_results_run_idx on task_results (run_id);
create index task_results_due_idx on task_results (delivery_due_at) where delivery_due_at is not null;
-- Claims of deliveries take the first ones of each task.
create index task_results_task_due_idx on task_results (task_id, delivery_due_at) where delivery_due_at is not null;
create index task_results_deadline_idx on task_results (deadline_at) where status = 'running';
alter table tokens add foreign key (task_result_id) references task_results on delete cascade;

create table task_deliveries (
  id text primary key,
  task_result_id text not null references task_results on delete cascade,
  -- that of the result; null only in deliveries of earlier servers during an upgrade
  task_id text,
  attempt integer not null,
  sent_at timestamptz not null,
  duration_ms integer not null,
  -- the agent that sent the request; null for the server
  agent_name text,
  url text not null,
  -- sent to a private address, whose response only some users may see
  is_private boolean not null default true,
  request_headers jsonb not null,
  request_body text not null,
  response_status integer,
  response_headers jsonb,
  -- not always text
  response_body bytea,
  response_truncated boolean not null default false,
  -- for users: why there is no response
  error text,
  next_attempt_at timestamptz
);
create unique index task_deliveries_key on task_deliveries (task_result_id, attempt);
create index task_deliveries_kept_idx on task_deliveries (sent_at, id);
create index task_deliveries_task_idx on task_deliveries (task_id, sent_at, id);
create index task_deliveries_succeeded_idx on task_deliveries (task_id, sent_at, id) where response_status = 200;
create index task_deliveries_failed_idx on task_deliveries (task_id, sent_at, id) where response_status is distinct from 200;

create table task_outcomes (
  id text primary key,
  task_result_id text not null references task_results on delete cascade,
  seq bigint not null generated always as identity,
  outcome_id text not null,
  description text not null,
  url text,
  -- [{label, value: [{label, level}]}]
  tags jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index task_outcomes_key on task_outcomes (task_result_id, outcome_id);
create index task_outcomes_list_idx on task_outcomes (task_result_id, seq);

-- Bodies have up to 5 MB, so lists do not read them.
create table task_outcome_bodies (
  task_outcome_id text primary key references task_outcomes on delete cascade,
  body text not null
);

-- Requests of run tasks that an agent sends from its own network.
create table task_requests (
  id text primary key,
  agent_pool_id text not null references agent_pools on delete cascade,
  -- null for a request that verifies a receiver
  task_result_id text references task_results on delete cascade,
  seq bigint not null generated always as identity,
  status text not null default 'queued' check (status in ('queued', 'leased', 'answered')),
  -- sealed: the URL, the headers and the body
  request bytea not null,
  timeout_ms integer not null,
  -- deadline for a claim, after which the attempt has failed
  claim_until timestamptz not null,
  agent_name text,
  -- SHA-256 of the token with which the agent reports the response
  token_hash bytea,
  leased_at timestamptz,
  -- deadline for the response, after which the attempt has failed
  lease_expires_at timestamptz,
  -- sealed: the response, or why there is none
  response bytea,
  created_at timestamptz not null,
  check (status = 'queued' or (agent_name is not null and token_hash is not null and leased_at is not null
    and lease_expires_at is not null)),
  check ((status = 'answered') = (response is not null))
);
create unique index task_requests_result_key on task_requests (task_result_id);
create index task_requests_queue_idx on task_requests (agent_pool_id, seq) where status = 'queued';
create index task_requests_created_idx on task_requests (created_at);

-- When an agent last claimed requests of run tasks, which not every agent does.
create table task_claims (
  agent_id text primary key references agents on delete cascade,
  agent_pool_id text not null references agent_pools on delete cascade,
  claimed_at timestamptz not null
);
create index task_claims_pool_idx on task_claims (agent_pool_id, claimed_at);
`
