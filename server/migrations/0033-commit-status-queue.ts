/** Commit statuses are sent by the loop that sends run tasks and notifications, instead of by background jobs, and their requests are logged. */
export const up = `
alter table commit_statuses add column due_at timestamptz not null default now();
drop index commit_statuses_due_idx;
create index commit_statuses_due_idx on commit_statuses (repository_id, due_at)
  where sent_version < version or (commented_version < version and pull_request_number is not null);

-- The reports to the host of a connection, which one process at a time sends, so that they stay in order.
alter table host_reports drop column holder, drop column awaited_until, alter column leased_until drop not null;
alter table host_reports rename column leased_until to lease_expires_at;
alter table host_reports rename column connection_id to id;
alter table host_reports add column attempts integer not null default 0;

create table commit_status_deliveries (
  id text primary key,
  workspace_id text not null references workspaces on delete cascade,
  commit_sha text not null,
  kind text not null check (kind in ('run', 'plan')),
  -- null for a workspace that a commit does not concern
  run_id text references runs on delete cascade,
  sent_at timestamptz not null,
  duration_ms integer not null,
  url text not null,
  is_private boolean not null default true,
  request_headers jsonb not null,
  request_body text not null,
  response_status integer,
  response_headers jsonb,
  response_body bytea,
  response_truncated boolean not null default false,
  -- for users: why there is no response
  error text
);
create index commit_status_deliveries_workspace_idx on commit_status_deliveries (workspace_id, sent_at, id);
create index commit_status_deliveries_run_idx on commit_status_deliveries (run_id, sent_at, id) where run_id is not null;
create index commit_status_deliveries_kept_idx on commit_status_deliveries (sent_at, id);

do $$ begin
  if to_regclass('pgboss.schedule') is not null then
    delete from pgboss.schedule where name = 'commit-statuses.overdue';
    delete from pgboss.job where name in ('commit-statuses.overdue', 'commit-statuses.send');
  end if;
end $$;
`
