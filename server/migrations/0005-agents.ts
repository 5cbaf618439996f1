/** Agent pools, their allowed workspaces and projects, and agents. */
export const up = `
create table agent_pools (
  id text primary key,
  -- null for the pool of the built-in agents
  organization_id text references organizations on delete cascade,
  name text not null,
  organization_scoped boolean not null default true,
  max_concurrent_jobs integer check (max_concurrent_jobs > 0),
  created_at timestamptz not null
);
create unique index agent_pools_name_key on agent_pools (organization_id, lower(name));
create index agent_pools_list_idx on agent_pools (organization_id, name, id);
create index agent_pools_created_idx on agent_pools (organization_id, created_at, id);
insert into agent_pools (id, organization_id, name, created_at) values ('apool-builtin', null, 'built-in', now());

alter table organizations add foreign key (default_agent_pool_id) references agent_pools on delete set null;
alter table projects add foreign key (default_agent_pool_id) references agent_pools on delete set null;
alter table workspaces add foreign key (agent_pool_id) references agent_pools on delete set null;
alter table tokens add foreign key (agent_pool_id) references agent_pools on delete cascade;

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
  -- the token with which the agent registered; its deletion deregisters the agent but keeps the row
  token_id text,
  name text not null,
  ip_address text,
  version text not null,
  os text not null,
  arch text not null,
  -- [{"product": "terraform", "version": "1.11.4"}]
  engines jsonb not null default '[]',
  -- null for agents that do not report it
  downloads_engines boolean,
  concurrency integer not null default 1 check (concurrency >= 1),
  accepts text[] not null default '{plan,apply}'
    check (cardinality(accepts) > 0 and accepts <@ array['plan', 'apply', 'task']),
  last_ping_at timestamptz not null,
  -- when the agent deregistered or was replaced
  exited_at timestamptz,
  created_at timestamptz not null
);
create index agents_pool_idx on agents (agent_pool_id, created_at, id);
create index agents_registered_idx on agents (agent_pool_id) where exited_at is null;
create index agents_name_idx on agents (agent_pool_id, name);
create index agents_token_idx on agents (token_id) where exited_at is null;
`
