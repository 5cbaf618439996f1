import type { RunTrigger, Trigger } from '@groundstate/contract/notification-configurations'
import { sql } from 'kysely'
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
  /** Who may want to be notified as the one who started the run. */
  createdByUserId: string | null
  events: readonly RunEvent[]
  now: Date
  deadline: Date
}

/** The receivers of a notification, whose configuration a deletion or an update does not change meanwhile. */
export type Raised = { configuration_id: string | null }

/**
 * Query that inserts the notifications of a run's events: one for each enabled configuration of the workspace and its project that has the trigger, and
 * one for the user who started the run and wants it. A repeated status is not notified again. A notification is due no earlier than those before it
 * that wait for another attempt.
 */
export function runNotificationsInsert({ workspaceId, createdByUserId, events, now, deadline }: RunEvents) {
  const rows = JSON.stringify(events.map(({ id, trigger, facts }, index) => ({ index, id, trigger, facts })))
  return sql<Raised>`insert into notifications as n (id, configuration_id, user_id, receiver_id, organization_id, workspace_id, run_id,
                                   trigger, run_status, facts, delivery_due_at, deadline_at, created_at)
    select e.id || row_number() over (partition by e.id order by x.receiver_id), x.configuration_id, x.user_id, x.receiver_id,
           w.organization_id, w.id, e.facts->>'run_id', e.trigger, e.facts->>'run_status',
           e.facts || jsonb_build_object('workspace_name', w.name, 'organization_name', o.name, 'run_created_by', creator.username),
           greatest(${now}::timestamptz, (
             select max(earlier.delivery_due_at) from notifications earlier
              where earlier.receiver_id = x.receiver_id and earlier.run_id = e.facts->>'run_id'
                and earlier.delivery_due_at is not null)),
           ${deadline}::timestamptz, ${now}::timestamptz
      from workspaces w
      join organizations o on o.id = w.organization_id
      left join users creator on creator.id = ${createdByUserId}
     cross join lateral (
       select c.id as configuration_id, null as user_id, c.id as receiver_id, c.triggers
         from notification_configurations c where c.workspace_id = w.id and c.enabled
        union all
       select c.id, null, c.id, c.triggers
         from notification_configurations c where c.project_id = w.project_id and c.enabled
        union all
       select null, s.user_id, s.user_id, s.own_run_triggers
         from notification_settings s where s.user_id = ${createdByUserId}) x
      join jsonb_to_recordset(${rows}::jsonb) as e (index integer, id text, trigger text, facts jsonb)
        on e.trigger = any(x.triggers)
     where w.id = ${workspaceId}
     order by e.index
    on conflict (run_id, receiver_id, trigger, run_status) where run_id is not null do nothing
    returning configuration_id`
}

type WorkspaceEvent = {
  id: string
  trigger: Trigger
  workspaceId: string
  message: string
  now: Date
  deadline: Date
}

/** Inserts the notifications of an event of a workspace. Returns how many. */
export async function insertWorkspaceNotifications(db: Db, event: WorkspaceEvent) {
  const { id, trigger, workspaceId, message, now, deadline } = event
  const { rows } =
    await sql<Raised>`insert into notifications (id, configuration_id, receiver_id, organization_id, workspace_id, trigger,
                                   facts, delivery_due_at, deadline_at, created_at)
    select ${id} || row_number() over (order by c.id), c.id, c.id, w.organization_id, w.id, ${trigger},
           jsonb_build_object('message', ${message}::text, 'workspace_name', w.name, 'organization_name', o.name),
           ${now}::timestamptz, ${deadline}::timestamptz, ${now}::timestamptz
      from workspaces w
      join organizations o on o.id = w.organization_id
      join notification_configurations c on c.workspace_id = w.id or c.project_id = w.project_id
     where w.id = ${workspaceId} and c.enabled and ${trigger} = any(c.triggers)
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
