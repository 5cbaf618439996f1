import type { DestinationType, Trigger } from '@groundstate/contract/notification-configurations'
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type AttemptColumns, attemptInsert } from '../../../deliveries/attempts.ts'
import { type Claim, type ClaimOptions, type QueueTable, dueRows } from '../../../deliveries/queue.ts'
import type { Counts, RunFacts, WorkspaceFacts } from '../notification-configurations/content.ts'
import { seesWorkspace } from '../notification-configurations/recipients-store.ts'

export type NotificationDeliveryRow = Selectable<Schema['notification_deliveries']>

/** SQL condition: no earlier notification of the run than `r` waits for the same recipient. */
const isFirst = sql<boolean>`(r.run_id is null or not exists (
    select from notifications earlier where earlier.run_id = r.run_id and earlier.recipient_id = r.recipient_id
       and earlier.seq < r.seq and earlier.delivery_due_at is not null))`

/** A notification of a run is sent after those before it to the same recipient were delivered or given up. */
export const QUEUE: QueueTable = {
  table: 'notifications',
  receiver: 'receiver_id',
  join: sql``,
  organization: sql<string>`r.organization_id`,
  connects: sql<boolean>`true`,
  isReady: isFirst,
}

/** The content and destination of a notification; without a configuration it is an e-mail to the user. */
export type ClaimedNotification = Claim & {
  trigger: Trigger
  facts: { message: string; deleted_by?: string | null } & Omit<WorkspaceFacts, 'workspace_id'> &
    Partial<Omit<RunFacts, 'run_id'>>
  deadline_at: Date
  delivered_to: string[]
  refused_to: string[]
  user_id: string | null
  receiver_id: string
  organization_id: string
  workspace_id: string
  run_id: string | null
  configuration: {
    id: string
    name: string
    enabled: boolean
    destination_type: DestinationType
    url: Buffer | null
    token: Buffer | null
    workspace_id: string | null
    project_id: string | null
    team_id: string | null
  } | null
  counts: Counts | null
  /** The phase that failed, and why the run did, if the server knows. */
  failed_phase_id: string | null
  run_error: string | null
  /** The user who approved the run. */
  approved_by: string | null
}

/** A count of the apply, or of the plan before that ends (see phases). */
const count = (column: string) =>
  sql`coalesce(case when apply.status = 'finished' then apply.${sql.ref(column)} end, plan.${sql.ref(column)}, 0)`

/** Leases due notifications, so that each is sent by one process, and loads everything required to send them. When a process dies, its leases expire. */
export async function claimNotifications(db: Db, { leaseUntil, ...options }: ClaimOptions) {
  type Row = Omit<ClaimedNotification, 'configuration'> & { c_id: string | null } & Record<string, unknown>
  const { rows } = await sql<Row>`with recursive ${dueRows(QUEUE, options)},
    claimed as (
      update notifications r set lease_expires_at = ${leaseUntil}, attempts = r.attempts + 1
       where r.id = any(array(select id from due))
      returning r.*)
    select r.id, r.attempts as attempt, r.trigger, r.facts, r.deadline_at, r.delivered_to, r.refused_to, r.user_id, r.receiver_id, r.organization_id,
           r.workspace_id, r.run_id, c.id as c_id, c.name as c_name, c.enabled, c.destination_type, c.url, c.token,
           c.workspace_id as c_workspace_id, c.project_id, c.team_id,
           case when coalesce(case when apply.status = 'finished' then apply.resource_additions end, plan.resource_additions) is not null then jsonb_build_object(
             'imports', ${count('resource_imports')}, 'additions', ${count('resource_additions')},
             'changes', ${count('resource_changes')}, 'destructions', ${count('resource_destructions')}) end as counts,
           case when r.run_status = 'errored' then
             case when apply.status = 'errored' then apply.id when plan.status = 'errored' then plan.id end end as failed_phase_id,
           case when r.run_status = 'errored' then runs.error end as run_error,
           approver.username as approved_by
      from claimed r
      left join notification_configurations c on c.id = r.configuration_id
      left join runs on runs.id = r.run_id
      left join users approver on approver.id = runs.confirmed_by_user_id
      left join phases plan on plan.run_id = r.run_id and plan.kind = 'plan'
      left join phases apply on apply.run_id = r.run_id and apply.kind = 'apply'
     order by r.seq`.execute(db)
  return rows.map((row): ClaimedNotification => ({
    ...row,
    configuration:
      row.c_id === null
        ? null
        : {
            id: row.c_id,
            name: row['c_name'] as string,
            enabled: row['enabled'] as boolean,
            destination_type: row['destination_type'] as DestinationType,
            url: row['url'] as Buffer | null,
            token: row['token'] as Buffer | null,
            workspace_id: row['c_workspace_id'] as string | null,
            project_id: row['project_id'] as string | null,
            team_id: row['team_id'] as string | null,
          },
  }))
}

type OwnRun = { id: string; organizationId: string; workspaceId: string; trigger: Trigger }

/** The user's address for e-mails about own runs; undefined for one who may not see the workspace any more or no longer wants them. */
export async function findOwnAddress(db: Db, user: OwnRun) {
  const { rows } = await sql<{ email: string }>`select u.email from users u
     join notification_settings s on s.user_id = u.id and ${user.trigger} = any(s.own_run_triggers)
     join organization_memberships m on m.user_id = u.id and m.organization_id = ${user.organizationId} and m.status = 'active'
    where u.id = ${user.id} and u.suspended_at is null and u.email is not null
      and ${seesWorkspace(sql`u.id`, user.workspaceId)}`.execute(db)
  return rows[0]?.email
}

/** Records that a mail server has accepted the mail for an address, or refused it for good: no later attempt sends it there. */
export async function addAnswered(
  db: Db,
  id: string,
  { address, isAccepted }: { address: string; isAccepted: boolean },
) {
  const column = sql.ref(isAccepted ? 'delivered_to' : 'refused_to')
  await sql`update notifications set ${column} = array_append(${column}, ${address}) where id = ${id}`.execute(db)
}

type Recorded = {
  id: string
  columns: AttemptColumns
  error: string | null
  deliveredAt: Date | null
  next: Date | null
  now: Date
}

/**
 * Records an attempt and releases its lease. If another process has taken over, only a delivery counts: it ends the notification. One that was
 * canceled during the attempt stays canceled, with its reason, unless it was delivered. Later ones of the run are due when this has ended, and not before its next attempt.
 */
export async function recordAttempt(
  db: Db,
  claim: ClaimedNotification,
  { id, columns, error, deliveredAt, next, now }: Recorded,
) {
  const { names, values } = attemptInsert(columns)
  const status = sql`case when ${deliveredAt}::timestamptz is not null then 'delivered'
    when status <> 'pending' then status when ${next}::timestamptz is null then 'failed' else 'pending' end`
  await sql`with freed as (
      update notifications
         set lease_expires_at = null, delivered_at = coalesce(${deliveredAt}, delivered_at), status = ${status},
             error = case when ${status} <> 'delivered' then case status when 'pending' then ${error}::text else error end
               when refused_to <> '{}' then 'the mail server refused these recipients: ' || array_to_string(refused_to, ', ') end,
             delivery_due_at = case when ${status} = 'pending' then ${next}::timestamptz end
       where id = ${claim.id}
         and (attempts = ${claim.attempt} or (${deliveredAt}::timestamptz is not null and delivery_due_at is not null))
      returning id, seq, recipient_id, run_id, delivery_due_at),
    later as (${laterUpdate(now)})
    insert into notification_deliveries (id, notification_id, attempt, ${names}, error, next_attempt_at)
    values (${id}, ${claim.id}, ${claim.attempt}, ${values}, ${error}, (select delivery_due_at from freed))`.execute(db)
}

/** Time that a notification has at least after those before it were given up. */
const LEAST_TIME = sql.lit('1 hour')

function laterUpdate(now: Date) {
  return sql`update notifications l
       set delivery_due_at = coalesce(freed.delivery_due_at, ${now}::timestamptz),
           deadline_at = greatest(l.deadline_at, ${now}::timestamptz + ${LEAST_TIME}::interval)
      from freed
     where l.run_id = freed.run_id and l.recipient_id = freed.recipient_id and l.seq > freed.seq
       and l.delivery_due_at is not null`
}

type Ended = { status: 'delivered' | 'failed' | 'canceled'; error: string | null; now: Date }

/** Ends a notification that there is nobody left to send to, without counting an attempt. */
export async function endNotification(db: Db, claim: ClaimedNotification, { status, error, now }: Ended) {
  await sql`with freed as (
      update notifications
         set lease_expires_at = null, delivery_due_at = null, status = ${status}, error = ${error}, attempts = attempts - 1,
             delivered_at = case when ${status} = 'delivered' then ${now}::timestamptz else delivered_at end
       where id = ${claim.id} and attempts = ${claim.attempt} and status = 'pending'
      returning seq, recipient_id, run_id, delivery_due_at)
    ${laterUpdate(now)}`.execute(db)
}

/** SQL expression: the earliest deadline of a notification that was not delivered. */
export const FIRST_DEADLINE = sql<Date | null>`(select deadline_at from notifications
    where delivery_due_at is not null order by deadline_at limit 1)`

const GIVEN_UP_AT_ONCE = 500

/** Gives up notifications whose deadline has passed; an attempt in progress may still deliver one. Later ones of the run get their chance. */
export async function giveUpNotifications(db: Db, now: Date) {
  await sql`with overdue as (
      select r.id from notifications r where r.delivery_due_at is not null and r.deadline_at <= ${now} and ${isFirst}
       order by r.deadline_at limit ${sql.lit(GIVEN_UP_AT_ONCE)} for update skip locked),
    freed as (
      update notifications n
         set delivery_due_at = null, status = 'failed', error = coalesce(n.error, 'it was not sent in time')
       where n.id = any(array(select id from overdue))
      returning n.seq, n.recipient_id, n.run_id, n.delivery_due_at)
    ${laterUpdate(now)}`.execute(db)
}
