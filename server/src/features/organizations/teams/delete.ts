import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { forbidden } from '../../../errors.ts'
import { requireTeam } from './access.ts'
import { teamAudit } from './audit.ts'
import * as store from './store.ts'

/** Deletes the team with its tokens and all that it was granted. */
export async function deleteTeam(ctx: Ctx, id: string) {
  const team = await requireTeam(ctx, id, 'team:read')
  if (team.is_owners) throw forbidden("the owners team can't be deleted")
  if (!team.can.has('team:delete')) throw forbidden(`this needs the permission team:delete on the team ${team.name}`)
  await transact(ctx, async (ctx) => {
    await store.deleteTeam(ctx.db, id)
    // Runs and states name the account as their maker, so it stays; nothing can act as it any more.
    await store.suspendServiceUser(ctx.db, team.service_user_id, ctx.now())
    await recordAudit(ctx, teamAudit(team, 'destroy'))
  })
}
