import type { TransactionCtx } from '../../../app.ts'
import { announce, announceAccess } from '../../../changes/announce.ts'
import { teamNotice } from '../teams/audit.ts'
import * as store from './store.ts'

/** Makes an account an active member of the organization, unless it is one; an invitation of its address is spent. */
export async function insertMembership(
  ctx: TransactionCtx,
  { organizationId, userId, viaSso = false }: { organizationId: string; userId: string; viaSso?: boolean },
) {
  const now = ctx.now()
  const accepted = await store.acceptInvitations(ctx.db, { userId, organizationId, now })
  const id = ctx.newId('ou')
  await store.insertUserMembership(ctx.db, { id, organizationId, userId, viaSso, now })
  const memberships = [id, ...accepted.map((membership) => membership.id)]
  announce(
    ctx,
    ...memberships.map((id) => ({ organization: organizationId, type: 'organization-memberships' as const, id })),
    ...accepted.flatMap(({ teams }) => teams.map((team) => ({ organization: organizationId, ...teamNotice(team) }))),
  )
  announceAccess(ctx, organizationId)
}
