/** A claim and the place of a run in line read nothing but an index, however long the queue is. */
export const up = `
-- An agent has jobs of its own pool reserved, and of that pool alone.
create index agent_jobs_reserved_idx on agent_jobs (agent_pool_id, preferred_agent_id, seq)
  where status = 'queued' and preferred_agent_id is not null;
drop index agent_jobs_preferred_idx;

-- Counts of what waits and of what agents work on need no row.
create index runs_line_idx on runs (organization_id, seq) include (status, waits) where status not in (
  'planned_and_finished', 'planned_and_saved', 'applied', 'discarded', 'canceled', 'force_canceled', 'errored');
drop index runs_unfinished_idx;

-- Each claim and each end of a job leaves a dead row where the next claim begins to read.
alter table agent_jobs set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
`
