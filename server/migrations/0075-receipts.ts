/** A job whose agent has to say that it received it: an answer on its way to the agent may be lost. */
export const up = `
-- null once the agent has said so, and for agents that do not
alter table agent_jobs add column receipt_due_at timestamptz;
-- what was queued again since no agent had said so
create index agent_jobs_unheard_idx on agent_jobs (phase_id) where receipt_due_at is not null and status = 'ended';
`
