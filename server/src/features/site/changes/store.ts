import { type RawBuilder, sql } from 'kysely'
import type { AccessColumn, GrantsColumn } from '../../../auth/access-context.ts'
import { accessColumn, grantsColumn, userInSql } from '../../../auth/access-sql.ts'
import type { Db } from '../../../db/db.ts'

export type Member = { userId: string; organizationId: string }
type MemberRow = Member & { access: AccessColumn; teams: string[]; grants: string }

const MINE: RawBuilder<unknown> = sql`team_members mine
  join teams my_team on my_team.id = mine.team_id and my_team.organization_id = requested.organization_id
  where mine.user_id = requested.user_id`

/** The access of users to organizations; deleted organizations have no row. */
export async function listAccessRows(db: Db, members: readonly Member[]) {
  const access = accessColumn(userInSql(sql`requested.user_id`), { organizationId: sql`requested.organization_id` })
  const { rows } = await sql<MemberRow>`
    select requested.user_id as "userId", requested.organization_id as "organizationId", ${access} as access,
           array(select mine.team_id from ${MINE} order by 1) as teams,
           (select md5(coalesce(string_agg(all_grants.g, ',' order by all_grants.g), '')) from (
              select my_grant::text as g from team_projects my_grant
               where my_grant.team_id in (select mine.team_id from ${MINE})
              union all
              select my_grant::text from team_workspaces my_grant
               where my_grant.team_id in (select mine.team_id from ${MINE})) all_grants) as grants
      from unnest(${members.map(({ userId }) => userId)}::text[],
                  ${members.map(({ organizationId }) => organizationId)}::text[]) as requested (user_id, organization_id)
      join organizations o on o.id = requested.organization_id`.execute(db)
  return rows
}

export async function listGrants(db: Db, requested: readonly { userId: string; workspaceId: string }[]) {
  const { rows } = await sql<{ userId: string; workspaceId: string; grants: GrantsColumn }>`
    select requested.user_id as "userId", w.id as "workspaceId",
           ${grantsColumn(userInSql(sql`requested.user_id`), { projectId: sql`w.project_id`, workspaceId: sql`w.id` })} as grants
      from unnest(${requested.map(({ userId }) => userId)}::text[], ${requested.map(({ workspaceId }) => workspaceId)}::text[])
           as requested (user_id, workspace_id)
      join workspaces w on w.id = requested.workspace_id`.execute(db)
  return rows
}

/** The sessions that have not expired, with the columns that decide whether they are idle. */
export async function listSessions(db: Db, ids: readonly string[], now: Date) {
  return db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['s.id', 's.created_at', 's.last_used_at', 's.idle_minutes', 's.longest_idle_minutes'])
    .where(sql<boolean>`s.id = any(${ids})`)
    .where('s.expires_at', '>', now)
    .where('u.suspended_at', 'is', null)
    .execute()
}

export async function listValidTokens(db: Db, ids: readonly string[], now: Date) {
  const rows = await db
    .selectFrom('tokens as t')
    .leftJoin('users as u', 'u.id', 't.user_id')
    .select('t.id')
    .where(sql<boolean>`t.id = any(${ids})`)
    .where((eb) => eb.or([eb('t.expires_at', 'is', null), eb('t.expires_at', '>', now)]))
    .where('u.suspended_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** The person accountable for a token of a team or organization: its creator, otherwise the first owner. Undefined if there is neither. */
export async function findTokenHolder(db: Db, tokenId: string) {
  const { rows } = await sql<{ id: string | null }>`
    select coalesce(c.id, (
             select m.user_id from teams owners join team_members m on m.team_id = owners.id
              where owners.organization_id = t.organization_id and owners.is_owners and m.user_id <> owners.service_user_id
              order by m.created_at, m.user_id limit 1)) as id
      from tokens t left join users c on c.id = t.created_by_user_id and not c.is_service_account
     where t.id = ${tokenId}`.execute(db)
  return rows[0]?.id ?? undefined
}
