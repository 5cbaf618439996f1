import type { TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce } from '../../../changes/announce.ts'
import { teamNotice } from '../teams/audit.ts'
import { membershipAudit } from './audit.ts'
import * as store from './store.ts'

/**
 * Makes an account a member of the organizations that have invited its address. Called where an account comes to an
 * address that is known to be the person's: never for an address that somebody just typed.
 */
export async function acceptInvitations(ctx: TransactionCtx, userId: string) {
  const memberships = await store.acceptInvitations(ctx.db, { userId, organizationId: undefined, now: ctx.now() })
  for (const { teams, ...membership } of memberships) {
    await recordAudit(ctx, membershipAudit(membership, 'update', { status: 'active' }))
    announce(ctx, ...teams.map((team) => ({ organization: membership.organization_id, ...teamNotice(team) })))
  }
}
