import type { ChangePassword } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { currentSessionId } from '../sessions/access.ts'
import { checkOwnPassword } from '../sessions/check-credentials.ts'
import { endSessions } from '../sessions/end.ts'
import { userAudit } from '../users/audit.ts'
import { updateUser } from '../users/update.ts'
import { type Account, requirePasswordAccount, withTwoFactor } from './access.ts'

/** Changes the password of a user who knows the current one, and signs out every other browser. */
export async function changePassword(ctx: Ctx, input: ChangePassword): Promise<Account> {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, input.current_password, '/data/attributes/current_password')
  const passwordHash = await hashPassword(input.password)
  return transact(ctx, async (ctx) => {
    const updated = await updateUser(ctx, user.id, { password_hash: passwordHash })
    await endSessions(ctx, user.id, currentSessionId(ctx))
    await recordAudit(ctx, userAudit('change_password', user))
    return withTwoFactor(ctx, updated)
  })
}
