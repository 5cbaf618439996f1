import type { Ctx } from '../../../app.ts'
import { listSessions } from '../sessions/store.ts'
import { requirePerson } from './access.ts'

export async function listOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  return listSessions(ctx.db, user.id, ctx.now())
}
