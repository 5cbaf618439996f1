import { type RawBuilder, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { ORGANIZATION_ACCESS } from '../../../auth/grants.ts'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import { containing } from '../../../db/sql.ts'

export async function findTokenSubject(db: Db, actor: Actor, id: string) {
  const userId = actor.kind === 'user' ? actor.userId : null
  return db
    .selectFrom('teams as team')
    .select(['team.id', 'team.name', 'team.organization_id', 'team.is_owners', 'team.visibility'])
    .select(['team.service_user_id', 'team.allow_member_token_management'])
    .select(ORGANIZATION_ACCESS.map((name) => `team.${name}` as const))
    .select(isMember(userId).as('is_member'))
    .select(accessColumn(actor, { organizationId: sql`team.organization_id` }).as('access'))
    .where('team.id', '=', id)
    .executeTakeFirst()
}

function isMember(userId: string | null) {
  return sql<boolean>`exists (select from team_members mine where mine.team_id = team.id and mine.user_id = ${userId})`
}

type TeamTokenSort = keyof typeof SORT_COLUMNS

const SORT_COLUMNS = {
  'created-at': sql`token.created_at`,
  'expired-at': sql`token.expires_at`,
  'last-used-at': sql`token.last_used_at`,
  'team-name': sql`lower(team.name)`,
  'created-by': sql`token.created_by_user_id`,
  description: sql`lower(token.description)`,
} as const satisfies Record<string, RawBuilder<unknown>>

export const TEAM_TOKEN_SORTS = Object.keys(SORT_COLUMNS) as TeamTokenSort[]

export type TeamTokenQuery = {
  organizationId: string
  teamId?: string
  /** The teams whose tokens the actor may see. */
  scope: { all: boolean; owners: boolean; memberId: string | undefined }
  q: string | undefined
  expiry: 'expired' | 'active' | 'never' | undefined
  sort: TeamTokenSort
  descending: boolean
  now: Date
}

function teamTokens(db: Db, query: Omit<TeamTokenQuery, 'sort' | 'descending'>) {
  const { scope, now } = query
  let select = db
    .selectFrom('tokens as token')
    .innerJoin('teams as team', 'team.id', 'token.team_id')
    .where('token.kind', '=', 'team')
    .where('token.organization_id', '=', query.organizationId)
  if (query.teamId !== undefined) select = select.where('token.team_id', '=', query.teamId)
  if (!scope.owners) select = select.where('team.is_owners', '=', false)
  if (!scope.all)
    select = select.where('team.allow_member_token_management', '=', true).where(isMember(scope.memberId ?? null))
  if (query.q !== undefined) {
    const pattern = containing(query.q)
    select = select.where((eb) => eb.or([eb('team.name', 'ilike', pattern), eb('token.description', 'ilike', pattern)]))
  }
  if (query.expiry === 'expired') select = select.where('token.expires_at', '<=', now)
  if (query.expiry === 'active')
    select = select.where((eb) => eb.or([eb('token.expires_at', '>', now), eb('token.expires_at', 'is', null)]))
  if (query.expiry === 'never') select = select.where('token.expires_at', 'is', null)
  return select
}

export async function listTeamTokens(db: Db, query: TeamTokenQuery, page: Page) {
  const all = teamTokens(db, query)
  const direction = query.descending ? 'desc' : 'asc'
  const list = all
    .selectAll('token')
    .orderBy(SORT_COLUMNS[query.sort], (order) => order[direction]().nullsLast())
    .orderBy('token.id', direction)
  return readPaged(page, list, all)
}

export async function deleteTeamTokens(db: Db, organizationId: string, ids: readonly string[]) {
  return db
    .deleteFrom('tokens')
    .where('kind', '=', 'team')
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`id = any(${[...ids]}::text[])`)
    .returningAll()
    .execute()
}
