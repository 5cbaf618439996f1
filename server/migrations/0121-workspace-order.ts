/**
 * The order of workspaces by their latest change moves to their keys: every state changes it, and wrote the row of its workspace into all
 * six indexes of that wide table.
 */
export const up = `
create index workspace_keys_change_idx on workspace_keys (organization_id, latest_change_at, id);
drop index workspace_keys_organization_idx;
drop index workspaces_change_idx;
`
