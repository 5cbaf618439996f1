import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Marks a token as refused, or as accepted again; false if it was marked so already. */
export async function setFailure(db: Db, tokenId: string, failure: { at: Date; message: string } | null) {
  const { numUpdatedRows } = await db
    .updateTable('oauth_tokens')
    .set({ failed_at: failure?.at ?? null, failure: failure?.message ?? null })
    .where('id', '=', tokenId)
    .where('failed_at', failure === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Blocks requests through a connection until the time, unless it is blocked for longer. */
export async function setBlocked(db: Db, clientId: string, until: Date) {
  await sql`update oauth_clients set blocked_until = greatest(blocked_until, ${until}) where id = ${clientId}`.execute(
    db,
  )
}

export async function setServiceProviderUser(db: Db, tokenId: string, user: string) {
  await db.updateTable('oauth_tokens').set({ service_provider_user: user }).where('id', '=', tokenId).execute()
}

/** Addresses of the owners of an organization. */
export async function listOwnerAddresses(db: Db, organizationId: string) {
  const { rows } = await sql<{ email: string }>`
    select distinct u.email from teams t
      join team_members m on m.team_id = t.id
      join users u on u.id = m.user_id
     where t.organization_id = ${organizationId} and t.is_owners and u.email is not null`.execute(db)
  return rows.map(({ email }) => email)
}
