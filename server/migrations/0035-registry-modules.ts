import { MODULE_STATUSES, MODULE_VERSION_STATUSES } from '@groundstate/contract/registry-modules'
import { literalList } from '../src/db/sql.ts'

/** Modules of the registry, their versions, and which workspaces use modules and providers of the registry. */
export const up = `
create table registry_modules (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  registry_name text not null check (registry_name in ('private', 'public')),
  -- null for a private module, whose namespace is the name of its organization
  namespace text,
  name text not null,
  provider text not null,
  status text not null check (status in (${literalList(MODULE_STATUSES)})),
  no_code boolean not null default false,
  -- null for a module whose versions are uploaded
  repository_id text references repositories on delete set null,
  vcs_branch text,
  vcs_tags boolean not null default true,
  vcs_source_directory text,
  vcs_tag_prefix text,
  -- as configured: tests are not run
  test_config jsonb,
  tags jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((registry_name = 'private') = (namespace is null))
);
create unique index registry_modules_key
  on registry_modules (organization_id, coalesce(lower(namespace), ''), lower(name), lower(provider));
create index registry_modules_list_idx on registry_modules (organization_id, lower(name), id);
create index registry_modules_repository_idx on registry_modules (repository_id) where repository_id is not null;

create table registry_module_versions (
  id text primary key,
  registry_module_id text not null references registry_modules on delete cascade,
  version text not null,
  status text not null check (status in (${literalList(MODULE_VERSION_STATUSES)})),
  error text,
  source text not null check (source in ('tfe-api', 'vcs')),
  commit_sha text,
  -- set once, when the version is published
  blob_key text unique,
  size bigint,
  md5 text,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (registry_module_id, version),
  check (blob_key is null or status = 'ok')
);
create index registry_module_versions_user_idx on registry_module_versions (created_by_user_id)
  where created_by_user_id is not null;

-- The modules of the registry that the latest run of a workspace installed.
create table registry_module_uses (
  workspace_id text not null references workspaces on delete cascade,
  registry_module_id text not null references registry_modules on delete cascade,
  version text not null,
  used_at timestamptz not null,
  primary key (workspace_id, registry_module_id, version)
);
create index registry_module_uses_module_idx on registry_module_uses (registry_module_id, version);

-- The providers of this server's registry that the latest run of a workspace installed: org/type in lower case.
create table registry_provider_uses (
  workspace_id text not null references workspaces on delete cascade,
  source text not null,
  version text not null,
  used_at timestamptz not null,
  primary key (workspace_id, source, version)
);
create index registry_provider_uses_source_idx on registry_provider_uses (source, version);
`
