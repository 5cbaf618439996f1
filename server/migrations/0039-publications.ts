import { PUBLICATION_STATUSES } from '@groundstate/contract/vcs-publications'
import { literalList } from '../src/db/sql.ts'

/** Versions of modules and policy sets that are published from repositories, and why others are not. */
export const up = `
create table vcs_publications (
  id text primary key,
  -- in the order of their deliveries
  seq bigint not null generated always as identity,
  organization_id text not null references organizations on delete cascade,
  registry_module_id text references registry_modules on delete cascade,
  policy_set_id text references policy_sets on delete cascade,
  repository_id text references repositories on delete set null,
  -- null for an import, and for a version of a module that somebody created
  delivery_id text references vcs_deliveries on delete cascade,
  status text not null check (status in (${literalList(PUBLICATION_STATUSES)})),
  reason text not null,
  detail text,
  message text,
  version text,
  commit_sha text,
  commit_ref text,
  commit_url text not null default '',
  -- when the host reported the commit first: replays do not replace what was pushed later
  reported_at timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  check (num_nonnulls(registry_module_id, policy_set_id) = 1),
  check ((status = 'pending') = (ended_at is null)),
  check (status <> 'pending' or (commit_sha is not null and (registry_module_id is null or version is not null)))
);
create unique index vcs_publications_module_key on vcs_publications (delivery_id, registry_module_id)
  where registry_module_id is not null;
create unique index vcs_publications_set_key on vcs_publications (delivery_id, policy_set_id)
  where policy_set_id is not null;
create index vcs_publications_module_idx on vcs_publications (registry_module_id, seq desc) where registry_module_id is not null;
create index vcs_publications_set_idx on vcs_publications (policy_set_id, seq desc) where policy_set_id is not null;
create index vcs_publications_pending_module_idx on vcs_publications (registry_module_id, seq) where status = 'pending';
create index vcs_publications_pending_set_idx on vcs_publications (policy_set_id, seq) where status = 'pending';
create index vcs_publications_delivery_idx on vcs_publications (delivery_id) where delivery_id is not null;
create index vcs_publications_repository_idx on vcs_publications (repository_id) where repository_id is not null;
create index vcs_publications_organization_idx on vcs_publications (organization_id);
`
