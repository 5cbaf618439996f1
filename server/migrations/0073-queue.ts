/** The order of the agents' queue, and the limits of what agents do at once. */
export const up = `
alter table organizations add column run_concurrency integer check (run_concurrency > 0);
alter table agent_pools add column max_concurrent_jobs integer check (max_concurrent_jobs > 0);

-- A queued job stands in the queue of its pool by (class, tag, seq). The class is 0 for an apply, 1 for a plan that may be
-- applied, 2 for one that is plan-only. The tag shares the pool out between organizations, the round what an organization
-- has between its workspaces.
alter table agent_jobs
  add column organization_id text,
  add column workspace_id text,
  add column class smallint check (class in (0, 1, 2)),
  add column round integer not null default 1,
  add column tag bigint not null default 1;
update agent_jobs j set organization_id = r.organization_id, workspace_id = r.workspace_id,
       class = case when j.kind = 'apply' then 0 when r.plan_only then 2 else 1 end
  from runs r where r.id = j.run_id;
alter table agent_jobs
  alter column organization_id set not null,
  alter column workspace_id set not null,
  alter column class set not null,
  alter column round drop default,
  alter column tag drop default;

drop index agent_jobs_queue_idx;
create index agent_jobs_queue_idx on agent_jobs (agent_pool_id, class, tag, seq) where status = 'queued';
create index agent_jobs_organization_queue_idx on agent_jobs (agent_pool_id, class, organization_id, round, tag, seq)
  where status = 'queued';
create index agent_jobs_workspace_queue_idx on agent_jobs (agent_pool_id, class, workspace_id, tag) where status = 'queued';
create index agent_jobs_preferred_idx on agent_jobs (preferred_agent_id, seq)
  where status = 'queued' and preferred_agent_id is not null;
create index agent_jobs_pool_running_idx on agent_jobs (agent_pool_id, class, tag) where status = 'running';
create index agent_jobs_organization_running_idx on agent_jobs (organization_id) where status = 'running';
`
