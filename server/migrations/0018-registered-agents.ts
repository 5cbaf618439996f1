/** Adds the index of registered agents to earlier databases. */
export const up = `create index if not exists agents_registered_idx on agents (agent_pool_id) where exited_at is null;`
