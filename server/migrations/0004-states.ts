/** State versions with their content, outputs and resources, and retention. */
export const up = `
create domain state_version_status as text check (value in ('pending', 'finalized', 'discarded',
  'backing_data_soft_deleted', 'backing_data_permanently_deleted'));

create table state_versions (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  revision bigint not null,
  status state_version_status not null,
  serial bigint not null,
  md5 text not null,
  lineage text,
  -- size of the raw state in bytes; null until it was uploaded
  size bigint,
  intermediate boolean not null default false,
  -- location of the raw content: 'row' for state_contents, else the key of a blob
  raw_location text,
  json_location text,
  -- whether the JSON state may still be uploaded: once, for a version that was created without content
  awaits_json boolean not null default false,
  -- version of the raw format, such as 4; null for an unreadable state
  format integer,
  engine_version text,
  -- extracted from the content
  resources_processed boolean not null default false,
  resource_count integer not null default 0,
  billable_count integer,
  modules jsonb,
  providers jsonb,
  resources jsonb,
  -- instead of resources if the list is long: the server compresses it faster than the database stores JSON
  resource_list bytea,
  -- JSON of every instance, compressed; for the workspace's list of resources
  instances bytea,
  created_by_user_id text references users on delete set null,
  -- the holder of the workspace's lock when the version was created
  lock_holder_id text,
  run_id text,
  rollback_of_id text references state_versions on delete set null,
  created_at timestamptz not null,
  soft_deleted_at timestamptz,
  -- when the content of a soft-deleted version is deleted permanently
  purge_at timestamptz,
  check (status <> 'finalized' or (size is not null and raw_location is not null)),
  check (status <> 'pending' or raw_location is null),
  unique (workspace_id, revision)
);
-- Already compressed.
alter table state_versions alter column resource_list set storage external, alter column instances set storage external;
create index state_versions_status_idx on state_versions (workspace_id, status, revision);
create index state_versions_run_idx on state_versions (run_id) where run_id is not null;
create index state_versions_rollback_idx on state_versions (rollback_of_id) where rollback_of_id is not null;
create index state_versions_purge_idx on state_versions (purge_at) where status = 'backing_data_soft_deleted';
-- Created last: on a table without statistics, PostgreSQL checks a key with the newest of equally suitable indexes.
create unique index state_versions_workspace_key on state_versions (workspace_id, id);

-- A workspace has one current version, which cannot be deleted. The keys include the id of the workspace, so that the deletion
-- of a version finds the workspace by its primary key: an index on these columns would be written with each state.
alter table workspaces
  add foreign key (id, current_state_version_id) references state_versions (workspace_id, id),
  add foreign key (id, pending_state_version_id) references state_versions (workspace_id, id),
  add foreign key (id, latest_state_version_id) references state_versions (workspace_id, id);

-- Small content, encrypted like blobs, but stored in the same commit as its version. It is not moved out of its row:
-- with a second table and its index, storing a state of 2 KB takes longer.
create table state_contents (
  state_version_id text not null references state_versions on delete cascade,
  kind text not null check (kind in ('raw', 'json')),
  sealed bytea not null,
  primary key (state_version_id, kind)
) with (toast_tuple_target = 8160);
alter table state_contents alter column sealed set storage external;

create table state_version_outputs (
  id text primary key,
  state_version_id text not null references state_versions on delete cascade,
  name text collate "C" not null,
  type text not null,
  detailed_type jsonb not null,
  sensitive boolean not null,
  -- JSON, encrypted
  value bytea not null,
  unique (state_version_id, name)
);

-- Cached comparisons of two versions, sealed; a null "from" is the state before the first version.
create table state_diffs (
  from_id text references state_versions on delete cascade,
  to_id text not null references state_versions on delete cascade,
  revision integer not null,
  sealed bytea not null,
  created_at timestamptz not null,
  unique nulls not distinct (to_id, from_id)
);
alter table state_diffs alter column sealed set storage external;
create index state_diffs_from_idx on state_diffs (from_id);

-- Results of the daily check of stored content: [{id, reason}].
create table content_checks (
  checked_at timestamptz primary key,
  checked integer not null,
  damaged jsonb not null
);

create table data_retention_policies (
  id text primary key,
  organization_id text references organizations on delete cascade,
  workspace_id text references workspaces on delete cascade,
  -- null keeps everything
  delete_older_than_days integer check (delete_older_than_days > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((organization_id is null) <> (workspace_id is null))
);
create unique index data_retention_policies_organization_key on data_retention_policies (organization_id)
  where organization_id is not null;
create unique index data_retention_policies_workspace_key on data_retention_policies (workspace_id)
  where workspace_id is not null;
`
