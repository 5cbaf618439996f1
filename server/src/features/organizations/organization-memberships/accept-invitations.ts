import type { TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import * as store from './store.ts'

/**
 * Makes an account a member of the organizations that have invited its address. Called where an account comes to an
 * address that is known to be the person's: never for an address that somebody just typed.
 */
export async function acceptInvitations(ctx: TransactionCtx, userId: string) {
  const memberships = await store.acceptInvitations(ctx.db, { userId, organizationId: undefined, now: ctx.now() })
  for (const { id, organization_id: organizationId } of memberships) {
    await recordAudit(ctx, {
      organizationId,
      action: 'update',
      resource: { type: 'organization_user', id },
      meta: { status: 'active' },
    })
  }
}
