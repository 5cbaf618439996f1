import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, lowered } from '../../../db/sql.ts'
import { raiseAccessRevision } from '../organizations/store.ts'

export type TeamRow = Selectable<Schema['teams']>

/** Teams `t` with the columns that they do not have themselves. The service account is not counted as a member. */
function selectTeams(db: Db, actor: Actor) {
  return db
    .selectFrom('teams as t')
    .innerJoin('organizations as o', 'o.id', 't.organization_id')
    .selectAll('t')
    .select(['o.name as organization_name'])
    .select(isMember(actor).as('is_member'))
    .select(
      sql<number>`(select count(*) from team_members tm where tm.team_id = t.id and tm.user_id <> t.service_user_id)`.as(
        'users_count',
      ),
    )
}

/** SQL condition: the actor is in the team `t`. */
function isMember(actor: Actor): RawBuilder<boolean> {
  if (actor.kind !== 'user') return sql<boolean>`false`
  return sql<boolean>`exists (select from team_members me where me.team_id = t.id and me.user_id = ${actor.userId})`
}

function access(actor: Actor) {
  return accessColumn(actor, { organizationId: sql`t.organization_id` }).as('access')
}

export async function findTeam(db: Db, actor: Actor, id: string) {
  return selectTeams(db, actor).select(access(actor)).where('t.id', '=', id).executeTakeFirst()
}

/** Teams by their ids, without a check of who may see them. */
export async function findTeams(db: Db, actor: Actor, ids: readonly string[]) {
  return selectTeams(db, actor)
    .select(access(actor))
    .where(sql<boolean>`t.id = any(${ids})`)
    .orderBy('t.name')
    .orderBy('t.id')
    .execute()
}

export type TeamFilter = {
  organizationId: string
  /** Otherwise the visible teams and the actor's own. */
  all: boolean
  names: readonly string[] | undefined
  q: string | undefined
}

export async function listTeams(db: Db, actor: Actor, filter: TeamFilter, page: Page) {
  const matches = sql<boolean>`t.organization_id = ${filter.organizationId}
    ${filter.all ? sql`` : sql`and (t.visibility = 'organization' or ${isMember(actor)})`}
    ${filter.names === undefined ? sql`` : sql`and lower(t.name) in ${lowered(filter.names)}`}
    ${filter.q === undefined ? sql`` : sql`and t.name ilike ${containing(filter.q)}`}`
  const [rows, count] = await Promise.all([
    selectTeams(db, actor)
      .where(matches)
      .orderBy('t.name')
      .orderBy('t.id')
      .limit(page.size)
      .offset(pageOffset(page))
      .execute(),
    db
      .selectFrom('teams as t')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(matches)
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: count.total }
}

export async function insertTeam(db: Db, row: Insertable<Schema['teams']>) {
  return db.insertInto('teams').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateTeam(db: Db, id: string, changes: Updateable<Schema['teams']>) {
  await db.updateTable('teams').set(changes).where('id', '=', id).execute()
}

export async function lockTeam(tx: Tx, id: string) {
  return tx.selectFrom('teams').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export async function deleteTeam(tx: Tx, id: string) {
  const deleted = await tx.deleteFrom('teams').where('id', '=', id).returning('organization_id').executeTakeFirst()
  if (deleted) await raiseAccessRevision(tx, { organizationId: deleted.organization_id })
}

export async function insertServiceUser(db: Db, { id, username, now }: { id: string; username: string; now: Date }) {
  await db
    .insertInto('users')
    .values({ id, username, auth_method: 'token', is_service_account: true, created_at: now, updated_at: now })
    .execute()
}

export async function suspendServiceUser(db: Db, id: string, now: Date) {
  await db
    .updateTable('users')
    .set({ suspended_at: now })
    .where('id', '=', id)
    .where('is_service_account', '=', true)
    .execute()
}

export async function findOwnersTeam(db: Db, organizationId: string) {
  return db
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('is_owners', '=', true)
    .executeTakeFirstOrThrow()
}
