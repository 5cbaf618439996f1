import type { SubscribableType, Trigger } from '@groundstate/contract/notification-configurations'
import { type Updateable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { seesSubscribable } from '../notification-configurations/recipients-store.ts'

export async function findSettings(db: Db, userId: string) {
  return db.selectFrom('notification_settings').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

type SettingsChanges = Omit<Updateable<Schema['notification_settings']>, 'user_id'>

export async function putSettings(db: Db, userId: string, changes: SettingsChanges) {
  const row = { own_run_triggers: [], configured_mails: true, ...changes }
  await db
    .insertInto('notification_settings')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(changes))
    .execute()
}

export type NamingConfiguration = {
  id: string
  name: string
  enabled: boolean
  triggers: Trigger[]
  organization_name: string
  subscribable_id: string
  subscribable_type: SubscribableType
  subscribable_name: string
}

/** The configurations that send e-mails to the user, named by id or address or as a member of the project or team, of places that it may see. */
export async function listNamingConfigurations(db: Db, userId: string) {
  const { rows } = await sql<NamingConfiguration>`
    select c.id, c.name, c.enabled, c.triggers, o.name as organization_name,
           coalesce(w.id, p.id, t.id) as subscribable_id, coalesce(w.name, p.name, t.name) as subscribable_name,
           case when w.id is not null then 'workspaces' when p.id is not null then 'projects' else 'teams' end as subscribable_type
      from users u
      join organization_memberships m on m.user_id = u.id and m.status = 'active'
      join organizations o on o.id = m.organization_id
      join notification_configurations c on c.organization_id = o.id and c.destination_type = 'email'
       and (exists (select from notification_configuration_users n where n.configuration_id = c.id and n.user_id = u.id)
            or exists (select from notification_configuration_invitations i
                        where i.configuration_id = c.id and i.membership_id = m.id)
            or lower(u.email) = any(select lower(a) from unnest(c.email_addresses) a)
            or (c.email_all_members or (not c.names_users and cardinality(c.email_addresses) = 0))
               and exists (select from team_members tm left join team_projects tp on tp.team_id = tm.team_id
                            where tm.user_id = u.id and (tm.team_id = c.team_id or tp.project_id = c.project_id)))
      left join workspaces w on w.id = c.workspace_id
      left join projects p on p.id = c.project_id
      left join teams t on t.id = c.team_id
     where u.id = ${userId} and coalesce(w.id, p.id, t.id) is not null and ${seesSubscribable(sql`u.id`)}
     order by o.name, subscribable_name, c.name, c.id`.execute(db)
  return rows
}
