import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { endSession, endSessions } from '../sessions/end.ts'
import { userAudit } from '../users/audit.ts'
import { requirePerson } from './access.ts'

export async function endOwnSession(ctx: Ctx, id: string) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('end_session', user, { session: id }), (ctx) => endSession(ctx, user.id, id))
}

/** Signs out everywhere, here too. API tokens stay: they are deleted one by one. */
export async function endOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('sign_out_everywhere', user), (ctx) => endSessions(ctx, user.id))
}
