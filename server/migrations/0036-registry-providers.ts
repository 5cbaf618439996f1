/** Providers of the registry, their versions and platforms, and the GPG keys that sign them. */
export const up = `
create table gpg_keys (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  key_id text not null check (key_id ~ '^[0-9A-F]{16}$'),
  fingerprint text not null,
  ascii_armor text not null,
  user_ids text[] not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint gpg_keys_key_id_key unique (organization_id, key_id)
);
create index gpg_keys_list_idx on gpg_keys (organization_id, created_at, id);

create table registry_providers (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  registry_name text not null check (registry_name in ('private', 'public')),
  -- null for a private provider, whose namespace is the name of its organization
  namespace text,
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((registry_name = 'private') = (namespace is null))
);
create unique index registry_providers_name_key
  on registry_providers (organization_id, coalesce(lower(namespace), ''), lower(name));
create index registry_providers_list_idx on registry_providers (organization_id, lower(name), id);

create table registry_provider_versions (
  id text primary key,
  registry_provider_id text not null references registry_providers on delete cascade,
  version text not null,
  protocols text[] not null check (cardinality(protocols) > 0),
  -- as given; need not be the id of a key yet
  key_id text not null,
  -- SHA256SUMS and its signature; never changed once both are there, since then they are verified
  shasums bytea,
  shasums_signature bytea,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint registry_provider_versions_version_key unique (registry_provider_id, version)
);
create index registry_provider_versions_list_idx on registry_provider_versions (registry_provider_id, created_at, id);
create index registry_provider_versions_key_idx on registry_provider_versions (upper(key_id));

create table registry_provider_platforms (
  id text primary key,
  registry_provider_version_id text not null references registry_provider_versions on delete cascade,
  os text not null,
  arch text not null,
  filename text not null,
  shasum text not null,
  -- set once, when the archive is uploaded
  blob_key text unique,
  size bigint,
  created_at timestamptz not null,
  constraint registry_provider_platforms_os_key unique (registry_provider_version_id, os, arch),
  constraint registry_provider_platforms_filename_key unique (registry_provider_version_id, filename),
  check ((blob_key is null) = (size is null))
);
`
