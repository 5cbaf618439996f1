/** Uses of providers refer to them, as those of modules do. Until now nothing was recorded. */
export const up = `
drop table registry_provider_uses;
create table registry_provider_uses (
  workspace_id text not null references workspaces on delete cascade,
  registry_provider_id text not null references registry_providers on delete cascade,
  version text not null,
  used_at timestamptz not null,
  primary key (workspace_id, registry_provider_id, version)
);
create index registry_provider_uses_provider_idx on registry_provider_uses (registry_provider_id, version);
`
