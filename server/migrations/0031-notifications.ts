import { DESTINATION_TYPES, NOTIFICATION_STATUS } from '@groundstate/contract/notification-configurations'
import { literalList } from '../src/db/sql.ts'

/** Notification configurations, the notifications that they cause, and the e-mails that users choose. */
export const up = `
create table notification_configurations (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  workspace_id text references workspaces on delete set null,
  project_id text references projects on delete cascade,
  team_id text references teams on delete cascade,
  name text not null,
  destination_type text not null check (destination_type in (${literalList(DESTINATION_TYPES)})),
  enabled boolean not null,
  triggers text[] not null default '{}',
  -- sealed, since the addresses of chat services are secrets; null for e-mail
  url bytea,
  -- sealed
  token bytea,
  email_addresses text[] not null default '{}',
  email_all_members boolean not null default false,
  -- whether users were named, who may all have left since
  names_users boolean not null default false,
  -- the latest verification, and whether its response comes from a private address
  verification jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- None is left of a deleted workspace: its last notifications are still sent.
  check (num_nonnulls(workspace_id, project_id, team_id) <= 1)
);
create index notification_configurations_workspace_idx on notification_configurations (workspace_id, created_at, id)
  where workspace_id is not null;
create index notification_configurations_project_idx on notification_configurations (project_id, created_at, id)
  where project_id is not null;
create index notification_configurations_team_idx on notification_configurations (team_id, created_at, id)
  where team_id is not null;
create index notification_configurations_left_idx on notification_configurations (id)
  where workspace_id is null and project_id is null and team_id is null;
create index notification_configurations_organization_idx on notification_configurations (organization_id);

create table notification_configuration_users (
  configuration_id text not null references notification_configurations on delete cascade,
  user_id text not null references users on delete cascade,
  primary key (configuration_id, user_id)
);
create index notification_configuration_users_user_idx on notification_configuration_users (user_id);

create table notification_settings (
  user_id text primary key references users on delete cascade,
  own_run_triggers text[] not null default '{}',
  -- e-mails of configurations that name the user
  configured_mails boolean not null default true
);

-- A message about an event to one receiver: a configuration, or a user by e-mail. It outlives its workspace and run.
create table notifications (
  id text primary key,
  seq bigint not null generated always as identity,
  configuration_id text references notification_configurations on delete cascade,
  user_id text references users on delete cascade,
  recipient_id text not null generated always as (coalesce(configuration_id, user_id)) stored,
  -- with common limits for requests: the configuration, or 'mail:' and the organization for e-mail
  receiver_id text not null,
  organization_id text not null references organizations on delete cascade,
  workspace_id text,
  run_id text,
  trigger text not null,
  run_status text,
  -- what the message says, at the time of the event
  facts jsonb not null,
  status text not null default 'pending' check (status in (${literalList(NOTIFICATION_STATUS)})),
  attempts integer not null default 0,
  delivery_due_at timestamptz,
  lease_expires_at timestamptz,
  deadline_at timestamptz not null,
  delivered_at timestamptz,
  -- addresses that the mail server has accepted it for
  delivered_to text[] not null default '{}',
  -- addresses that it has refused for good
  refused_to text[] not null default '{}',
  -- for users: why the last attempt failed
  error text,
  created_at timestamptz not null,
  check (num_nonnulls(configuration_id, user_id) = 1),
  check ((delivery_due_at is not null) = (status = 'pending'))
);
create unique index notifications_key on notifications (run_id, recipient_id, trigger, run_status) where run_id is not null;
create index notifications_due_idx on notifications (delivery_due_at) where delivery_due_at is not null;
create index notifications_receiver_due_idx on notifications (receiver_id, delivery_due_at)
  where delivery_due_at is not null;
create index notifications_run_due_idx on notifications (run_id, recipient_id, seq) where delivery_due_at is not null;
create index notifications_deadline_idx on notifications (deadline_at) where delivery_due_at is not null;
create index notifications_list_idx on notifications (configuration_id, seq);
create index notifications_user_idx on notifications (user_id) where user_id is not null;
create index notifications_organization_idx on notifications (organization_id);
create index notifications_kept_idx on notifications (created_at, id) where delivery_due_at is null;

create table notification_deliveries (
  id text primary key,
  notification_id text not null references notifications on delete cascade,
  attempt integer not null,
  sent_at timestamptz not null,
  duration_ms integer not null,
  url text not null,
  -- sent to a private address, whose response only some users may see
  is_private boolean not null,
  request_headers jsonb not null,
  request_body text not null,
  response_status integer,
  response_headers jsonb,
  -- not always text
  response_body bytea,
  response_truncated boolean not null default false,
  -- for users: why there is no response
  error text,
  next_attempt_at timestamptz
);
create unique index notification_deliveries_key on notification_deliveries (notification_id, attempt);
`
