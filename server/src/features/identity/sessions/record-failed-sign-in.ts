import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { userAudit } from '../users/audit.ts'
import type { UserRow } from '../users/store.ts'

/**
 * Records in the audit trail that a sign-in failed, or that a signed-in user did not know the password or code again.
 * Do not call it in a transaction that rolls back after the failure. An unknown login is recorded too, so that it takes
 * as long; but not its text, since people sometimes type a password into the field of the name.
 */
export async function recordFailedSignIn(ctx: Ctx, user: UserRow | undefined, reason: string) {
  const account = user ?? { id: 'unknown', username: 'unknown' }
  await transact(ctx, async (ctx) => recordAudit(ctx, userAudit('sign_in_failed', account, { reason })))
}
