/**
 * Digests of the former values of sensitive variables, which may still be deployed, and the sets that have applied to a workspace.
 * Both refer to sets that may be deleted.
 */
export const up = `
create table former_sensitive_values (
  organization_id text not null references organizations on delete cascade,
  workspace_id text references workspaces on delete cascade,
  variable_set_id text,
  -- the length of the text in UTF-16 code units
  length integer not null,
  -- HMAC of the text
  digest text not null,
  replaced_at timestamptz not null,
  check ((workspace_id is null) <> (variable_set_id is null))
);
create unique index former_sensitive_values_workspace_key on former_sensitive_values (workspace_id, digest)
  where workspace_id is not null;
create unique index former_sensitive_values_variable_set_key on former_sensitive_values (variable_set_id, digest)
  where variable_set_id is not null;
create index former_sensitive_values_organization_idx on former_sensitive_values (organization_id);

create table former_variable_sets (
  workspace_id text not null references workspaces on delete cascade,
  variable_set_id text not null,
  primary key (workspace_id, variable_set_id)
);
`
