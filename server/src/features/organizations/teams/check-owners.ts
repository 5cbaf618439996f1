import type { TransactionCtx } from '../../../app.ts'
import { forbidden } from '../../../errors.ts'
import * as store from './members-store.ts'

/**
 * Checked after owners have been taken away, in the same transaction: an organization without owners could never be
 * changed again. Throws `forbidden`.
 */
export async function checkOwnerRemains(ctx: TransactionCtx, organizationId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  if ((await store.countMembers(ctx.db, owners.id)) > 0) return
  throw forbidden('the owners team must keep at least one member: add another owner first')
}

/** Whether the user is the only owner of the organization. Takes the row lock that all removals of owners take. */
export async function isLastOwner(ctx: TransactionCtx, organizationId: string, userId: string) {
  const owners = await store.lockOwnersTeam(ctx.db, organizationId)
  return !(await store.hasOtherMembers(ctx.db, owners.id, userId))
}
