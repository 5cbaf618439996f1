/** What an agent reports of a job that it has lost, and which token an agent has registered with. */
export const up = `
alter table agent_jobs
  -- the length of its lease, which its agent has been told
  add column lease_ms integer not null default 30000,
  -- when its lease was found to have expired
  add column lost_at timestamptz,
  -- when the result of an apply that was lost has come all the same
  add column late_result_at timestamptz;
create index agent_jobs_lost_idx on agent_jobs (phase_id) where lost_at is not null and late_result_at is null;

alter table agents add column token_id text;
create index agents_token_idx on agents (token_id) where exited_at is null;
`
