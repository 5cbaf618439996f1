import type { RunTrigger, Trigger } from '@groundstate/contract/notification-configurations'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { RunFacts } from '../notification-configurations/content.ts'

/** An event of a run: `id` begins the ids of its notifications. */
export type RunEvent = {
  id: string
  trigger: RunTrigger
  facts: Omit<RunFacts, 'run_created_by'> & { message: string }
}

type RunEvents = {
  workspaceId: string
  /** The user who started the run, and may want e-mails about it. */
  createdByUserId: string | null
  events: readonly RunEvent[]
  now: Date
  deadline: Date
}

/** The receivers of a notification, whose configuration a deletion or an update does not change meanwhile. */
export type Raised = { configuration_id: string | null }

/** E-mails of an organization share the limits for one receiver. */
const mailReceiver = (organizationId: string) => sql`'mail:' || ${sql.ref(organizationId)}`

/**
 * Enabled configurations with one of the triggers, of a workspace or of its project. They are locked against being disabled or deleted until the
 * transaction ends: otherwise a deletion would fail it, and one that was disabled meanwhile would send the notification.
 */
function lockedConfigurations(
  column: 'workspace_id' | 'project_id',
  id: RawBuilder<unknown>,
  triggers: readonly string[],
) {
  return sql`select c.id, c.triggers,
       case when c.destination_type = 'email' then ${mailReceiver('c.organization_id')} else c.id end as receiver_id
     from notification_configurations c
    where c.${sql.ref(column)} = ${id} and c.enabled and c.triggers && ${triggers}::text[]
      for share of c`
}

function projectOf(workspaceId: string) {
  return sql`(select project_id from workspaces where id = ${workspaceId})`
}

/**
 * Query that inserts the notifications of a run's events: one for each enabled configuration of the workspace and its project that has the trigger, and
 * one for the user who started the run and wants it. A repeated status is not notified again. A notification is due no earlier than those before it
 * that wait for another attempt.
 */
export function runNotificationsInsert({ workspaceId, createdByUserId, events, now, deadline }: RunEvents) {
  const rows = JSON.stringify(events.map(({ id, trigger, facts }, index) => ({ index, id, trigger, facts })))
  const triggers = events.map(({ trigger }) => trigger)
  return sql<Raised>`with of_workspace as (${lockedConfigurations('workspace_id', sql`${workspaceId}`, triggers)}),
    of_project as (${lockedConfigurations('project_id', projectOf(workspaceId), triggers)}),
    of_user as (
      select u.id, s.own_run_triggers from notification_settings s join users u on u.id = s.user_id
       where s.user_id = ${createdByUserId} and s.own_run_triggers && ${triggers}::text[] for key share of u)
    insert into notifications as n (id, configuration_id, user_id, receiver_id, organization_id, workspace_id, run_id,
                                   trigger, run_status, facts, delivery_due_at, deadline_at, created_at)
    select e.id || row_number() over (partition by e.id order by coalesce(x.configuration_id, x.user_id)), x.configuration_id, x.user_id,
           coalesce(x.receiver_id, ${mailReceiver('w.organization_id')}), w.organization_id, w.id, e.facts->>'run_id', e.trigger,
           e.facts->>'run_status',
           e.facts || jsonb_build_object('workspace_name', w.name, 'organization_name', o.name, 'run_created_by', creator.username),
           greatest(${now}::timestamptz, (
             select max(earlier.delivery_due_at) from notifications earlier
              where earlier.run_id = e.facts->>'run_id' and earlier.recipient_id = coalesce(x.configuration_id, x.user_id)
                and earlier.delivery_due_at is not null)),
           ${deadline}::timestamptz, ${now}::timestamptz
      from workspaces w
      join organizations o on o.id = w.organization_id
      left join users creator on creator.id = ${createdByUserId}
     cross join lateral (
       select id as configuration_id, null as user_id, receiver_id, triggers from of_workspace
        union all select id, null, receiver_id, triggers from of_project
        union all select null, id, null, own_run_triggers from of_user) x
      join jsonb_to_recordset(${rows}::jsonb) as e (index integer, id text, trigger text, facts jsonb)
        on e.trigger = any(x.triggers)
     where w.id = ${workspaceId}
     order by e.index
    on conflict (run_id, recipient_id, trigger, run_status) where run_id is not null do nothing
    returning configuration_id`
}

type WorkspaceEvent = {
  id: string
  trigger: Trigger
  workspaceId: string
  message: string
  deletedBy: string | null
  now: Date
  deadline: Date
}

/** Inserts the notifications of an event of a workspace. Returns how many. */
export async function insertWorkspaceNotifications(db: Db, event: WorkspaceEvent) {
  const { id, trigger, workspaceId, message, deletedBy, now, deadline } = event
  const { rows } =
    await sql<Raised>`with of_workspace as (${lockedConfigurations('workspace_id', sql`${workspaceId}`, [trigger])}),
    of_project as (${lockedConfigurations('project_id', projectOf(workspaceId), [trigger])})
    insert into notifications (id, configuration_id, receiver_id, organization_id, workspace_id, trigger,
                               facts, delivery_due_at, deadline_at, created_at)
    select ${id} || row_number() over (order by c.id), c.id, c.receiver_id, w.organization_id, w.id, ${trigger},
           jsonb_build_object('message', ${message}::text, 'workspace_name', w.name, 'organization_name', o.name,
                              'deleted_by', ${deletedBy}::text),
           ${now}::timestamptz, ${deadline}::timestamptz, ${now}::timestamptz
      from workspaces w
      join organizations o on o.id = w.organization_id
     cross join (select id, receiver_id from of_workspace union all select id, receiver_id from of_project) c
     where w.id = ${workspaceId}
    returning configuration_id`.execute(db)
  return rows.length
}

const isPending = sql`exists (select from notifications n where n.configuration_id = c.id and n.delivery_due_at is not null)`

/** Deletes the configurations of a workspace that have nothing left to send. The others lose the workspace and send the rest. */
export async function deleteIdleConfigurations(tx: Tx, workspaceId: string) {
  await sql`delete from notification_configurations c where c.workspace_id = ${workspaceId} and not ${isPending}`.execute(
    tx,
  )
}

/** Deletes configurations of deleted workspaces that have sent everything. */
export async function deleteLeftConfigurations(db: Db) {
  await sql`delete from notification_configurations c
    where c.workspace_id is null and c.project_id is null and c.team_id is null and not ${isPending}`.execute(db)
}
