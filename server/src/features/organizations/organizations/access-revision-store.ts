import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/db.ts'
import { deferWrite } from '../../../db/later.ts'

/**
 * Raises the `access_revision` of an organization, by which `readGrants` sees that what it has counted is stale. Follows every change of
 * who is in a team, of what a team is granted, and of a workspace's project, in the same transaction. For a workspace that is about
 * to be deleted it is raised only if a team is granted something there.
 */
export async function raiseAccessRevision(tx: Tx, of: Raised) {
  const id = organizationOf(of)
  await deferWrite(tx, sql`update organizations set access_revision = access_revision + 1 where id = ${id}`)
}

type Raised = { organizationId: string } | { teamId: string } | { grantedWorkspaceId: string }

function organizationOf(of: Raised): RawBuilder<unknown> {
  if ('organizationId' in of) return sql`${of.organizationId}`
  if ('teamId' in of) return sql`(select organization_id from teams where id = ${of.teamId})`
  return sql`(select t.organization_id from team_workspaces g join teams t on t.id = g.team_id
    where g.workspace_id = ${of.grantedWorkspaceId} limit 1)`
}
