import type { Insertable } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'

export async function insertTeam(db: Db, row: Insertable<Schema['teams']>) {
  return db.insertInto('teams').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function insertTeamMember(db: Db, { teamId, userId, now }: { teamId: string; userId: string; now: Date }) {
  await db
    .insertInto('team_members')
    .values({ team_id: teamId, user_id: userId, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function insertServiceUser(db: Db, { id, username, now }: { id: string; username: string; now: Date }) {
  await db
    .insertInto('users')
    .values({ id, username, auth_method: 'token', is_service_account: true, created_at: now, updated_at: now })
    .execute()
}

/** Makes an existing account an active member of the organization. */
export async function insertMembership(
  db: Db,
  { id, organizationId, userId, now }: { id: string; organizationId: string; userId: string; now: Date },
) {
  await db
    .insertInto('organization_memberships')
    .columns(['id', 'organization_id', 'user_id', 'email', 'status', 'created_at'])
    .expression((eb) =>
      eb
        .selectFrom('users')
        .select(({ val, fn }) => [
          val(id).as('id'),
          val(organizationId).as('organization_id'),
          'users.id as user_id',
          fn.coalesce('users.email', 'users.username').as('email'),
          val('active' as const).as('status'),
          val(now).as('created_at'),
        ])
        .where('users.id', '=', userId),
    )
    .onConflict((conflict) => conflict.doNothing())
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
