/** What the filters of runs look up, each in the order of the list where it can be, and what claims of deliveries do. Runs can't be written while the indexes are built. */
export const up = `
create index run_keys_created_idx on run_keys (organization_id, created_at desc);

create index runs_pool_idx on runs (agent_pool_id, seq desc) where agent_pool_id <> 'apool-builtin';
create index runs_updated_idx on runs (organization_id, updated_at desc);

-- A claim of deliveries takes the first ones of each task.
create index task_results_task_due_idx on task_results (task_id, delivery_due_at) where delivery_due_at is not null;
`
