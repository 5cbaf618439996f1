/** Requests of run tasks that an agent sends from its own network. */
export const up = `
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
  -- without an agent by then the attempt has failed
  claim_until timestamptz not null,
  agent_name text,
  -- SHA-256 of the token with which the agent reports the answer
  token_hash bytea,
  leased_at timestamptz,
  -- without an answer by then the attempt has failed
  lease_expires_at timestamptz,
  -- sealed: what came back, or why nothing did
  answer bytea,
  created_at timestamptz not null,
  check (status = 'queued' or (agent_name is not null and token_hash is not null and leased_at is not null
    and lease_expires_at is not null)),
  check ((status = 'answered') = (answer is not null))
);
create unique index task_requests_result_key on task_requests (task_result_id);
create index task_requests_queue_idx on task_requests (agent_pool_id, seq) where status = 'queued';
create index task_requests_created_idx on task_requests (created_at);

-- When an agent last asked for requests of run tasks: not every agent does.
create table task_claims (
  agent_id text primary key references agents on delete cascade,
  agent_pool_id text not null,
  claimed_at timestamptz not null
);
create index task_claims_pool_idx on task_claims (agent_pool_id, claimed_at);

alter table task_deliveries add column agent_name text;

-- A task whose pool went away would be asked from the server's network.
alter table tasks drop constraint tasks_agent_pool_id_fkey, add foreign key (agent_pool_id) references agent_pools;
`
