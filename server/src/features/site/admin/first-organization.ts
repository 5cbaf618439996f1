import type { TransactionCtx } from '../../../app.ts'
import type { UserActor } from '../../../auth/actor.ts'
import { createOrganization } from '../../organizations/organizations/changes.ts'

export const FIRST_ORGANIZATION = 'main'

/** Gives the first administrator an organization, so that the first run needs no set-up; the examples name it. */
export async function createFirstOrganization(ctx: TransactionCtx, user: { id: string; username: string }) {
  const actor: UserActor = {
    kind: 'user',
    userId: user.id,
    username: user.username,
    isSiteAdmin: true,
    teamId: undefined,
    tokenId: undefined,
  }
  await createOrganization({ ...ctx, actor }, { name: FIRST_ORGANIZATION, email: 'admin@localhost.localdomain' })
}
