import type { TransactionCtx } from '../../../app.ts'
import * as store from './store.ts'

/** Makes an account an active member of the organization, unless it is one; an invitation of its address is spent. */
export async function insertMembership(
  ctx: TransactionCtx,
  { organizationId, userId, viaSso = false }: { organizationId: string; userId: string; viaSso?: boolean },
) {
  const now = ctx.now()
  await store.acceptInvitations(ctx.db, { userId, organizationId, now })
  await store.insertUserMembership(ctx.db, { id: ctx.newId('ou'), organizationId, userId, viaSso, now })
}
