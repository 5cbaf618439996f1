import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** A token, or an installation of the GitHub App. */
type Connected = { id: string; oauth_client_id: string | null; token: Buffer | null }

/**
 * Marks a connection as refused, or as accepted again; false if it was marked so already, or if its token has been replaced since it was
 * read.
 */
export async function setFailure(db: Db, { id, oauth_client_id, token }: Connected, failure: Failure | null) {
  const isInstallation = oauth_client_id === null
  const { numAffectedRows } = await sql`
    update ${sql.table(isInstallation ? 'github_app_installations' : 'oauth_tokens')}
       set failed_at = ${failure?.at ?? null}, failure = ${failure?.message ?? null}
     where id = ${id} and failed_at ${failure === null ? sql`is not null` : sql`is null`}
       ${isInstallation ? sql`` : sql`and token is not distinct from ${token}`}`.execute(db)
  return numAffectedRows === 1n
}

/** Stores since when and why the host of a token does not answer, or null if it does. False if that is known. */
export async function setUnreachable(db: Db, tokenId: string, failure: Failure | null) {
  const { numUpdatedRows } = await db
    .updateTable('oauth_tokens')
    .set({ unreachable_since: failure?.at ?? null, unreachable: failure?.message ?? null })
    .where('id', '=', tokenId)
    .where('unreachable_since', failure === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

type Failure = { at: Date; message: string }

/** Blocks requests through a connection until the time, unless it is blocked for longer. Returns whether it was not blocked before. */
export async function setBlocked(db: Db, { id, oauth_client_id: clientId }: Connected, { now, until }: Block) {
  const table = sql.table(clientId === null ? 'github_app_installations' : 'oauth_clients')
  const { rows } = await sql<{ is_new: boolean }>`
    with before as (select id, blocked_until from ${table} where id = ${clientId ?? id} for update)
    update ${table} c set blocked_until = greatest(c.blocked_until, ${until}) from before
     where c.id = before.id
    returning (before.blocked_until is null or before.blocked_until <= ${now}) as is_new`.execute(db)
  return rows[0]?.is_new ?? false
}

type Block = { now: Date; until: Date }

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
