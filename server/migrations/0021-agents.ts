/** Agents, the jobs that they take, and what agent pools are for. */
export const up = `
-- The pool of the agents inside the server belongs to no organization.
alter table agent_pools alter column organization_id drop not null;
insert into agent_pools (id, organization_id, name, created_at) values ('apool-builtin', null, 'built-in', now());
create index agent_pools_list_idx on agent_pools (organization_id, name, id);
create index agent_pools_created_idx on agent_pools (organization_id, created_at, id);

create table agent_pool_workspaces (
  agent_pool_id text not null references agent_pools on delete cascade,
  workspace_id text not null references workspaces on delete cascade,
  rule text not null check (rule in ('allowed', 'excluded')),
  primary key (agent_pool_id, rule, workspace_id)
);
create index agent_pool_workspaces_workspace_idx on agent_pool_workspaces (workspace_id);

create table agent_pool_projects (
  agent_pool_id text not null references agent_pools on delete cascade,
  project_id text not null references projects on delete cascade,
  primary key (agent_pool_id, project_id)
);
create index agent_pool_projects_project_idx on agent_pool_projects (project_id);

create table agents (
  id text primary key,
  agent_pool_id text not null references agent_pools on delete cascade,
  name text not null,
  ip_address text,
  version text not null,
  os text not null,
  arch text not null,
  last_ping_at timestamptz not null,
  -- it said goodbye, or another took its place
  exited_at timestamptz,
  created_at timestamptz not null
);
create index agents_pool_idx on agents (agent_pool_id, created_at, id);
create index agents_name_idx on agents (agent_pool_id, name);

-- One attempt at a plan or an apply. A job that runs is leased to an agent until lease_expires_at.
create table agent_jobs (
  id text primary key,
  run_id text not null references runs on delete cascade,
  phase_id text not null references phases on delete cascade,
  kind text not null check (kind in ('plan', 'apply')),
  agent_pool_id text not null,
  seq bigint not null generated always as identity,
  attempt integer not null,
  status text not null check (status in ('queued', 'running', 'ended')),
  -- the agent that still has the run's working directory
  preferred_agent_id text,
  agent_id text,
  agent_name text,
  -- SHA-256 of the job's token
  token_hash bytea,
  command text not null default 'continue' check (command in ('continue', 'cancel', 'force-cancel')),
  -- where the agent's log begins in the log of the phase
  log_base bigint not null default 0,
  queued_at timestamptz not null,
  leased_at timestamptz,
  lease_expires_at timestamptz,
  ended_at timestamptz,
  check (status <> 'running' or (agent_id is not null and token_hash is not null and lease_expires_at is not null))
);
create unique index agent_jobs_live_key on agent_jobs (run_id) where status <> 'ended';
create index agent_jobs_queue_idx on agent_jobs (agent_pool_id, seq) where status = 'queued';
create index agent_jobs_lease_idx on agent_jobs (lease_expires_at) where status = 'running';
create index agent_jobs_agent_idx on agent_jobs (agent_id) where status = 'running';
create index agent_jobs_phase_idx on agent_jobs (phase_id, seq);
create index agent_jobs_run_idx on agent_jobs (run_id);
`
