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

/**
 * The addresses that get the e-mails of a configuration: of named members, or of all members of its project or team if nobody is named, who may see it,
 * unless they do not want them; and other named addresses, if the site allows those (`allowsOthers`).
 */
export async function listRecipients(db: Db, configurationId: string, allowsOthers: boolean) {
  const isMember = sql`exists (select from organization_memberships m
    where m.organization_id = c.organization_id and m.user_id = u.id and m.status = 'active')`
  const { rows } = await sql<{ email: string }>`
    with c as materialized (
      select c.*, c.email_all_members or (not c.names_users and cardinality(c.email_addresses) = 0) as mails_all
        from notification_configurations c where c.id = ${configurationId}),
    named as (
      select u.* from c cross join lateral unnest(c.email_addresses) a join users u on lower(u.email) = lower(a)
       where ${isMember}),
    chosen as (
      select n.user_id from notification_configuration_users n join c on c.id = n.configuration_id
      union
      select m.user_id from notification_configuration_invitations i join c on c.id = i.configuration_id
        join organization_memberships m on m.id = i.membership_id
      union
      select id from named
      union
      select tm.user_id from c join team_members tm on tm.team_id = c.team_id where c.mails_all
      union
      select tm.user_id from c join team_projects tp on tp.project_id = c.project_id
        join team_members tm on tm.team_id = tp.team_id
       where c.mails_all)
    select u.email from c cross join chosen join users u on u.id = chosen.user_id
      left join notification_settings s on s.user_id = u.id
     where ${isMember} and u.email is not null and u.suspended_at is null and coalesce(s.configured_mails, true)
       and ${seesSubscribable(sql`u.id`)}
    union
    select a from c cross join lateral unnest(c.email_addresses) a
     where ${allowsOthers} and lower(a) not in (select lower(email) from named)
    order by 1`.execute(db)
  return rows.map(({ email }) => email)
}
