import { REVIEW_RESULTS } from '@groundstate/contract/reviewed-plans'
import { literalList } from '../src/db/sql.ts'

/** Statuses of commits and comments on pull requests, and the comparison of plans with those that were reviewed. */
export const up = `
alter table workspaces add column auto_apply_reviewed boolean not null default false;
-- the commit of the run's configuration, and whether its plan waits for the comparison with the reviewed one
alter table runs add column ingress_attributes_id text references ingress_attributes on delete set null,
  add column awaits_review boolean not null default false;
create index runs_ingress_idx on runs (ingress_attributes_id) where ingress_attributes_id is not null;

-- A workspace at a commit, as its host should show it: its latest run of the kind, or why it has none.
create table commit_statuses (
  workspace_id text not null references workspaces on delete cascade,
  commit_sha text not null,
  kind text not null check (kind in ('run', 'plan')),
  repository_id text not null references repositories on delete cascade,
  run_id text references runs on delete cascade,
  run_number integer,
  -- the decision about a workspace without a run
  reason text,
  detail text,
  pull_request_number integer,
  -- grows with each change; the host has the status, and the comment on the pull request, of the other versions
  version integer not null default 1,
  sent_version integer not null default 0,
  commented_version integer not null default 0,
  -- the status that was sent last, or why the host refused it
  sent jsonb,
  error text,
  created_at timestamptz not null,
  primary key (workspace_id, commit_sha, kind)
);
create index commit_statuses_due_idx on commit_statuses (repository_id)
  where sent_version < version or (commented_version < version and pull_request_number is not null);
create index commit_statuses_run_idx on commit_statuses (run_id);
create index commit_statuses_pull_request_idx on commit_statuses (repository_id, pull_request_number)
  where pull_request_number is not null;
create index commit_statuses_skipped_idx on commit_statuses (created_at) where run_id is null;

-- why the host refused the last status, or the last comment
alter table repositories add column status_error text, add column comment_error text;

-- Written before a comment is created, so that it can be found if its id could not be stored.
create table pull_request_comments (
  repository_id text not null references repositories on delete cascade,
  pull_request_number integer not null,
  -- the first line of the comment, which no other has
  marker text not null,
  -- the host's id
  comment_id text,
  -- of the text, to send it only if it has changed
  digest text,
  error text,
  updated_at timestamptz not null,
  primary key (repository_id, pull_request_number)
);

-- The process that reports to the host of a connection, so that what it sends stays in order.
create table host_reports (
  connection_id text primary key,
  -- the id of the lease: a process that lost it must not touch that of another
  holder text not null,
  leased_until timestamptz not null,
  -- the end of a lease that a waiting job continues after
  awaited_until timestamptz,
  -- consecutive failures, and when to try again
  failures integer not null default 0,
  retry_at timestamptz
);

-- The changes of a plan, each with a digest of its values.
create table plan_digests (
  run_id text primary key references runs on delete cascade,
  changes jsonb,
  -- why there are none: the JSON of the plan is lost or unreadable
  problem text,
  created_at timestamptz not null
);

create table reviewed_plans (
  run_id text primary key references runs on delete cascade,
  repository_id text references repositories on delete set null,
  pull_request_number integer,
  pull_request_url text,
  reviewed_run_id text references runs on delete set null,
  result text not null check (result in (${literalList(REVIEW_RESULTS)})),
  differences jsonb not null,
  difference_count integer not null,
  created_at timestamptz not null
);
create index reviewed_plans_reviewed_run_idx on reviewed_plans (reviewed_run_id) where reviewed_run_id is not null;
create index reviewed_plans_repository_idx on reviewed_plans (repository_id) where repository_id is not null;

create index vcs_deliveries_merged_idx on vcs_deliveries (repository_id, received_at desc)
  where event ->> 'action' = 'merged';
`
