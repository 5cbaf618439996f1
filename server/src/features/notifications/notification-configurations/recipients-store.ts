import { type RawBuilder, sql } from 'kysely'
import { userInSql } from '../../../auth/access-sql.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'

/** SQL condition: a user may see the workspace, project or team of the configuration `c`. A deleted workspace has no access any more. */
export function seesSubscribable(userId: RawBuilder<string>) {
  const user = userInSql(userId)
  return sql<boolean>`(
    (c.workspace_id is null or exists (select from workspaces w where w.id = c.workspace_id and ${visibleWorkspace(user)}))
    and (c.project_id is null or exists (select from projects p where p.id = c.project_id and ${visibleProject(user)}))
    and (c.team_id is null or exists (
      select from teams t where t.id = c.team_id and (
        t.visibility = 'organization'
        or exists (select from team_members mine join teams my_team on my_team.id = mine.team_id
                    where mine.user_id = ${userId} and my_team.organization_id = t.organization_id
                      and (my_team.id = t.id or my_team.is_owners))))))`
}

/** SQL condition: a user may see the workspace, or it was deleted. */
export function seesWorkspace(userId: RawBuilder<string>, workspaceId: string) {
  return sql<boolean>`not exists (
    select from workspaces w where w.id = ${workspaceId}::text and not ${visibleWorkspace(userInSql(userId))})`
}

export type RecipientsRow = {
  id: string
  addresses: string[]
  subscribable: 'workspaces' | 'projects' | 'teams'
  mails_all: boolean
  names_users: boolean
  named_addresses: number
  gone: number
  invited: number
  blind: number
  unwilling: number
}

/**
 * The addresses that get the e-mails of each configuration: of named members, or of all members of its project or team if nobody is named, who may see
 * it, unless they do not want them; and other named addresses, if the site allows those (`allowsOthers`). The counts are of chosen users who get none:
 * those who have left, or have no account yet (`invited`), may not see it (`blind`), or want no such e-mails (`unwilling`).
 */
export async function listRecipients(db: Db, ids: readonly string[], allowsOthers: boolean) {
  const isMember = sql`exists (select from organization_memberships m
    where m.organization_id = c.organization_id and m.user_id = u.id and m.status = 'active')`
  const countOf = (problem: string) =>
    sql`(select count(*) from judged j where j.configuration_id = c.id and j.problem = ${sql.lit(problem)})`
  const { rows } = await sql<RecipientsRow>`
    with c as materialized (
      select c.*, c.email_all_members or (not c.names_users and cardinality(c.email_addresses) = 0) as mails_all
        from notification_configurations c where c.id = any(${ids}) and c.destination_type = 'email'),
    named as (
      select c.id as configuration_id, u.id as user_id, lower(u.email) as email
        from c cross join lateral unnest(c.email_addresses) a join users u on lower(u.email) = lower(a)
       where ${isMember}),
    chosen as (
      select n.configuration_id, n.user_id from notification_configuration_users n join c on c.id = n.configuration_id
      union
      select c.id, m.user_id from notification_configuration_invitations i join c on c.id = i.configuration_id
        join organization_memberships m on m.id = i.membership_id
      union
      select configuration_id, user_id from named
      union
      select c.id, tm.user_id from c join team_members tm on tm.team_id = c.team_id where c.mails_all
      union
      select c.id, tm.user_id from c join team_projects tp on tp.project_id = c.project_id
        join team_members tm on tm.team_id = tp.team_id
       where c.mails_all),
    judged as materialized (
      select c.id as configuration_id, u.email, case
             when not ${isMember} or u.suspended_at is not null or u.email is null then 'gone'
             when not ${seesSubscribable(sql`u.id`)} then 'blind'
             when not coalesce(s.configured_mails, true) then 'unwilling' end as problem
        from c join chosen on chosen.configuration_id = c.id join users u on u.id = chosen.user_id and not u.is_service_account
        left join notification_settings s on s.user_id = u.id)
    select c.id, c.mails_all, c.names_users, cardinality(c.email_addresses) as named_addresses,
           case when c.workspace_id is not null then 'workspaces' when c.project_id is not null then 'projects' else 'teams' end
             as subscribable,
           array(select email from judged j where j.configuration_id = c.id and j.problem is null
                 union
                 select a from unnest(c.email_addresses) a
                  where ${allowsOthers} and lower(a) not in (select email from named n where n.configuration_id = c.id)
                 order by 1) as addresses,
           ${countOf('gone')} as gone, ${countOf('blind')} as blind, ${countOf('unwilling')} as unwilling,
           (select count(*) from notification_configuration_invitations i join organization_memberships m on m.id = i.membership_id
             where i.configuration_id = c.id and m.user_id is null) as invited
      from c`.execute(db)
  return rows
}
