import type { Insertable } from 'kysely'
import { transact } from '../db/db.ts'
import type { Schema } from '../db/schema.gen.ts'
import { insertTeam } from '../features/organizations/teams/service.ts'
import { insertTeamMembers } from '../features/organizations/teams/store.ts'
import { GRANT_KINDS, insertGrant } from '../features/workspaces/team-access/store.ts'
import type { TestApp } from './app.ts'
import type { TestUser } from './factories.ts'

let count = 0

type Grants = {
  members: readonly TestUser[]
  organizationId: string
  /** Permissions on the whole organization, `{ read_workspaces: true }`. */
  organization?: Partial<Insertable<Schema['teams']>>
  workspaces?: Record<string, Insertable<Schema['team_workspaces']>['access']>
  projects?: Record<string, Insertable<Schema['team_projects']>['access']>
}

/** Creates a team of `members` with access to workspaces and projects by id. Returns the team's id. */
export async function createTeamWithAccess(app: TestApp, grants: Grants) {
  count += 1
  return transact(app.as(), async (ctx) => {
    const now = ctx.now()
    const teamId = await insertTeam(ctx, { organizationId: grants.organizationId, name: `team-with-access-${count}` })
    if (grants.organization) {
      await ctx.db.updateTable('teams').set(grants.organization).where('id', '=', teamId).execute()
    }
    await insertTeamMembers(ctx.db, { teamIds: [teamId], userIds: grants.members.map(({ id }) => id), now })
    for (const [id, access] of Object.entries(grants.workspaces ?? {})) {
      const row = { id: ctx.newId('tws'), team_id: teamId, subject_id: id, access, created_at: now }
      await insertGrant(ctx.db, GRANT_KINDS.workspace, row)
    }
    for (const [id, access] of Object.entries(grants.projects ?? {})) {
      const row = { id: ctx.newId('tprj'), team_id: teamId, subject_id: id, access, created_at: now }
      await insertGrant(ctx.db, GRANT_KINDS.project, row)
    }
    return teamId
  })
}
