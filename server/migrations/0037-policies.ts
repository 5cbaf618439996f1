import { POLICY_SET_VERSION_STATUS } from '@groundstate/contract/policy-sets'
import { literalList } from '../src/db/sql.ts'

/** Policies and policy sets with their versions, parameters and scope, and the versions of OPA that evaluate them. */
export const up = `
create table opa_versions (
  id text primary key,
  version text not null unique,
  official boolean not null default false,
  enabled boolean not null default true,
  beta boolean not null default false,
  deprecated boolean not null default false,
  deprecated_reason text,
  created_at timestamptz not null
);

create table opa_version_archs (
  opa_version_id text not null references opa_versions on delete cascade,
  os text not null,
  arch text not null,
  url text not null,
  -- SHA-256 of the binary, in hex; null if agents read the one published next to it
  sha text,
  primary key (opa_version_id, os, arch)
);
insert into opa_versions (id, version, official, created_at) values ('tool-opa1r4v2default', '1.4.2', true, now());
insert into opa_version_archs (opa_version_id, os, arch, url)
select 'tool-opa1r4v2default', os, arch, 'https://github.com/open-policy-agent/opa/releases/download/v1.4.2/' || file
  from (values ('linux', 'amd64', 'opa_linux_amd64_static'), ('linux', 'arm64', 'opa_linux_arm64_static'),
    ('darwin', 'amd64', 'opa_darwin_amd64'), ('darwin', 'arm64', 'opa_darwin_arm64_static')) as v (os, arch, file);

create table policies (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  description text not null default '',
  kind text not null default 'opa' check (kind in ('opa')),
  query text not null,
  enforcement_level enforcement_level not null,
  -- SHA-256 of the code, in hex; null before the upload
  digest text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index policies_name_key on policies (organization_id, lower(name));
create index policies_list_idx on policies (organization_id, name, id);

-- Apart from the policies, which lists read without their code.
create table policy_sources (
  policy_id text primary key references policies on delete cascade,
  code text not null
);

create table policy_sets (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  name text not null,
  description text not null default '',
  kind text not null default 'opa' check (kind in ('opa')),
  is_global boolean not null default false,
  overridable boolean not null default false,
  -- a version of OPA, or latest
  policy_tool_version text not null default 'latest',
  -- directory of policies.hcl in the archives; empty for the root
  policies_path text not null default '',
  policy_update_patterns text[] not null default '{}',
  -- Its policies come from versions. Otherwise they are attached.
  is_versioned boolean not null default false,
  -- the version whose policies are evaluated
  current_version_id text,
  repository_id text references repositories on delete set null,
  vcs_branch text,
  vcs_submodules boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index policy_sets_name_key on policy_sets (organization_id, lower(name));
create index policy_sets_list_idx on policy_sets (organization_id, name, id);
create index policy_sets_repository_idx on policy_sets (repository_id) where repository_id is not null;

create table policy_set_versions (
  id text primary key,
  policy_set_id text not null references policy_sets on delete cascade,
  -- in the order of creation
  seq bigint not null generated always as identity,
  status text not null check (status in (${literalList(POLICY_SET_VERSION_STATUS)})),
  status_timestamps jsonb not null default '{}',
  -- tfe-api, or the kind of host of its repository
  source text not null,
  error text,
  error_message text,
  -- the archive; null before it is accepted
  blob_key text,
  size bigint,
  -- SHA-256 of the archive, in hex
  digest text,
  -- that of the set when the archive was read
  policies_path text not null default '',
  -- of the commit that it comes from
  commit_sha text,
  commit_url text,
  commit_identifier text,
  created_by_user_id text references users on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (status <> 'ready' or blob_key is not null)
);
create unique index policy_set_versions_list_key on policy_set_versions (policy_set_id, seq desc);
create index policy_set_versions_pending_idx on policy_set_versions (created_at) where status in ('pending', 'ingressing');
create unique index policy_set_versions_set_key on policy_set_versions (policy_set_id, id);
-- With the id of the set: a version of another set cannot be current.
alter table policy_sets add foreign key (id, current_version_id) references policy_set_versions (policy_set_id, id)
  deferrable initially deferred;

create table policy_set_version_policies (
  policy_set_version_id text not null references policy_set_versions on delete cascade,
  -- in the order of policies.hcl
  position integer not null,
  name text not null,
  query text not null,
  enforcement_level enforcement_level not null,
  description text not null default '',
  primary key (policy_set_version_id, name)
);

create table policy_set_policies (
  policy_set_id text not null references policy_sets on delete cascade,
  policy_id text not null references policies on delete cascade,
  primary key (policy_set_id, policy_id)
);
create index policy_set_policies_policy_idx on policy_set_policies (policy_id);

-- The archive assembled from attached policies, once for each content.
create table policy_set_bundles (
  policy_set_id text not null references policy_sets on delete cascade,
  digest text not null,
  blob_key text not null,
  size bigint not null,
  created_at timestamptz not null,
  primary key (policy_set_id, digest)
);

-- Workspaces to which a set applies, and those that are excluded.
create table policy_set_workspaces (
  policy_set_id text not null references policy_sets on delete cascade,
  workspace_id text not null references workspaces on delete cascade,
  is_exclusion boolean not null,
  primary key (policy_set_id, workspace_id, is_exclusion)
);
create index policy_set_workspaces_workspace_idx on policy_set_workspaces (workspace_id);

create table policy_set_projects (
  policy_set_id text not null references policy_sets on delete cascade,
  project_id text not null references projects on delete cascade,
  is_exclusion boolean not null,
  primary key (policy_set_id, project_id, is_exclusion)
);
create index policy_set_projects_project_idx on policy_set_projects (project_id);

-- A selector without a value matches a tag with any.
create table policy_set_tag_selectors (
  policy_set_id text not null references policy_sets on delete cascade,
  key text not null,
  value text,
  is_exclusion boolean not null,
  unique nulls not distinct (policy_set_id, key, value, is_exclusion)
);

create table policy_set_parameters (
  id text primary key,
  policy_set_id text not null references policy_sets on delete cascade,
  key text not null,
  -- a sensitive value is sealed under the parameter's id, any other is plain text
  value text,
  sealed_value bytea,
  sensitive boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (sensitive = (sealed_value is not null)),
  check (sensitive = (value is null)),
  constraint policy_set_parameters_key unique (policy_set_id, key)
);
create index policy_set_parameters_list_idx on policy_set_parameters (policy_set_id, created_at, id);
`
