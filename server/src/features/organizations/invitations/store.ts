import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type OpenInvitation = Pick<
  Selectable<Schema['organization_memberships']>,
  'id' | 'organization_id' | 'email'
> & {
  organization_name: string
  expires_at: Date
  /** The link was only sent to the address. */
  confirms_email: boolean
}

/** The invitation of a link that has not expired, by either of its links. */
export async function findInvitation(db: Db, hash: Buffer, now: Date) {
  const { rows } = await sql<OpenInvitation>`
    select m.id, m.organization_id, m.email, o.name as organization_name, m.invitation_expires_at as expires_at,
           m.confirms_email
      from (select *, false as confirms_email from organization_memberships where invitation_hash = ${hash}
            union all
            select *, true from organization_memberships where mailed_invitation_hash = ${hash}) m
      join organizations o on o.id = m.organization_id
     where m.status = 'invited' and m.invitation_expires_at > ${now}`.execute(db)
  return rows[0]
}
