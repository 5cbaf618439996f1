import type { TransactionCtx } from '../../../app.ts'
import * as store from './members-store.ts'

/** Removes a user from teams. */
export async function leaveTeams(ctx: TransactionCtx, userId: string, teamIds: readonly string[]) {
  for (const teamId of teamIds) await store.deleteTeamMembers(ctx.db, teamId, [userId])
}
