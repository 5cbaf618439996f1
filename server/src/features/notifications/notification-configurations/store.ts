import type { NotificationStatus, Trigger } from '@groundstate/contract/notification-configurations'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type ConfigurationRow = Selectable<Schema['notification_configurations']>
export type ConfigurationChanges = Updateable<Schema['notification_configurations']>

/** The column of each kind of subscribable. */
export const SUBSCRIBABLE_COLUMNS = { workspaces: 'workspace_id', projects: 'project_id', teams: 'team_id' } as const
type Subscribable = { type: keyof typeof SUBSCRIBABLE_COLUMNS; id: string }

type LastNotification = {
  id: string
  trigger: Trigger
  status: NotificationStatus
  error: string | null
  created_at: string
}

/** The users whom a configuration `c` names; someone invited has the id that clients see until there is an account. */
const userIds = sql<string[]>`array(
  select n.user_id as id from notification_configuration_users n where n.configuration_id = c.id
  union
  select coalesce(m.user_id, m.placeholder_id) from notification_configuration_invitations i
    join organization_memberships m on m.id = i.membership_id
   where i.configuration_id = c.id
   order by id)`

/** Configurations `c` with their users and their latest notification. */
function selectConfigurations(db: Db) {
  return db
    .selectFrom('notification_configurations as c')
    .selectAll('c')
    .select([
      userIds.as('user_ids'),
      // Addresses of members, for the two lists of addresses.
      sql<string[]>`array(select lower(u.email) from organization_memberships m join users u on u.id = m.user_id
         where m.organization_id = c.organization_id and m.status = 'active'
           and lower(u.email) = any(select lower(a) from unnest(c.email_addresses) a))`.as('member_addresses'),
      sql<LastNotification | null>`(select to_jsonb(l) from (
          select id, trigger, status, error, created_at from notifications
           where configuration_id = c.id order by seq desc limit 1) l)`.as('last_notification'),
    ])
}

export type FoundConfiguration = NonNullable<Awaited<ReturnType<typeof findConfiguration>>>

export async function findConfiguration(db: Db, id: string) {
  return selectConfigurations(db).where('c.id', '=', id).executeTakeFirst()
}

export async function listConfigurations(db: Db, { type, id }: Subscribable, page: Page) {
  const column = SUBSCRIBABLE_COLUMNS[type]
  const list = selectConfigurations(db).where(`c.${column}`, '=', id).orderBy('c.created_at').orderBy('c.id')
  return readPaged(page, list, db.selectFrom('notification_configurations').where(column, '=', id))
}

/** Locks the workspace, project or team, so that the number of its configurations stays within the limit; undefined if it was deleted. */
export async function countConfigurations(tx: Tx, { type, id }: Subscribable) {
  const { rows } = await sql`select from ${sql.table(type)} where id = ${id} for no key update`.execute(tx)
  if (rows.length === 0) return undefined
  const row = await tx
    .selectFrom('notification_configurations')
    .select(sql<number>`count(*)`.as('count'))
    .where(SUBSCRIBABLE_COLUMNS[type], '=', id)
    .executeTakeFirstOrThrow()
  return row.count
}

export async function insertConfiguration(tx: Tx, row: Insertable<Schema['notification_configurations']>) {
  await tx.insertInto('notification_configurations').values(row).execute()
}

/** Locks a configuration until the transaction ends; undefined if it was deleted. */
export async function lockConfiguration(tx: Tx, id: string) {
  return tx
    .selectFrom('notification_configurations')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function updateConfiguration(tx: Tx, id: string, changes: ConfigurationChanges) {
  await tx.updateTable('notification_configurations').set(changes).where('id', '=', id).execute()
}

export async function replaceUsers(tx: Tx, id: string, userIds: readonly string[]) {
  await tx.deleteFrom('notification_configuration_users').where('configuration_id', '=', id).execute()
  await tx.deleteFrom('notification_configuration_invitations').where('configuration_id', '=', id).execute()
  // Those who leave stay counted: otherwise the e-mails would go to everybody.
  await updateConfiguration(tx, id, { names_users: userIds.length > 0 })
  if (userIds.length === 0) return
  await sql`insert into notification_configuration_users (configuration_id, user_id)
    select ${id}, u.id from users u where u.id = any(${userIds})`.execute(tx)
  await sql`insert into notification_configuration_invitations (configuration_id, membership_id)
    select c.id, m.id from notification_configurations c
      join organization_memberships m on m.organization_id = c.organization_id and m.placeholder_id = any(${userIds})
     where c.id = ${id}`.execute(tx)
}

export async function deleteConfiguration(tx: Tx, id: string) {
  await tx.deleteFrom('notification_configurations').where('id', '=', id).execute()
}

/** Ends notifications that were not delivered. */
export async function cancelNotifications(tx: Tx, configurationId: string, reason: string) {
  await tx
    .updateTable('notifications')
    .set({ status: 'canceled', delivery_due_at: null, error: reason })
    .where('configuration_id', '=', configurationId)
    .where('delivery_due_at', 'is not', null)
    .execute()
}

/** Those of the users that are active members of the organization, with accounts of people, or invited to it. */
export async function findMembers(db: Db, organizationId: string, userIds: readonly string[]) {
  const { rows } = await sql<{
    id: string
  }>`select coalesce(user_id, placeholder_id) as id from organization_memberships
    where organization_id = ${organizationId}
      and (status = 'active' and user_id = any(${userIds}) or placeholder_id = any(${userIds}))`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** Those of the addresses, in lower case, that belong to members of the organization. */
export async function findMemberAddresses(db: Db, organizationId: string, addresses: readonly string[]) {
  const { rows } = await sql<{ email: string }>`select lower(u.email) as email
     from organization_memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organizationId} and m.status = 'active'
      and lower(u.email) = any(select lower(a) from unnest(${addresses}::text[]) a)`.execute(db)
  return new Set(rows.map(({ email }) => email))
}

/** The teams with access to a project, which see changes in it. */
export async function listProjectTeams(db: Db, projectId: string) {
  const rows = await db.selectFrom('team_projects').select('team_id').where('project_id', '=', projectId).execute()
  return rows.map(({ team_id }) => team_id)
}
