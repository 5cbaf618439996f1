import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Whether workspaces of one of the projects may use the token. */
export async function isTokenOpenTo(db: Db, tokenId: string, projectIds: readonly string[]) {
  const { rows } = await sql`
    select from oauth_tokens t join oauth_clients c on c.id = t.oauth_client_id
     where t.id = ${tokenId} and (c.organization_scoped or exists (
       select from oauth_client_projects s where s.oauth_client_id = c.id and s.project_id = any(${projectIds})))`.execute(
    db,
  )
  return rows.length > 0
}
