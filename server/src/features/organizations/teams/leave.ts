import type { TransactionCtx } from '../../../app.ts'
import * as store from './members-store.ts'

/** Takes a user out of the teams of those ids. */
export async function leaveTeams(ctx: TransactionCtx, userId: string, teamIds: readonly string[]) {
  for (const teamId of teamIds) await store.deleteTeamMembers(ctx.db, teamId, [userId])
}
