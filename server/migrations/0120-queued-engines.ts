/** What an agent finds of an organization whose other jobs ask for an engine that is left to other agents, however many these are. */
export const up = `
-- Told apart in the queue, and no more: jobs from before stand in one line.
alter table agent_jobs add column asked_engine text not null default '';
create index agent_jobs_engine_queue_idx on agent_jobs (agent_pool_id, class, organization_id, asked_engine, round, tag, seq)
  where status = 'queued';
`
