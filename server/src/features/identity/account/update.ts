import type { UpdateAccount } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { userAudit } from '../users/audit.ts'
import { findUserByLogin, type UserRow } from '../users/store.ts'
import { updateUser } from '../users/update.ts'
import { type Account, requirePerson, withTwoFactor } from './access.ts'

/**
 * Changes the username at once. A new address waits as `unconfirmed_email`: it has no effect until an administrator
 * sets it. Throws `invalid` for a username or an address that is taken.
 */
export async function updateAccount(ctx: Ctx, input: UpdateAccount): Promise<Account> {
  const user = await requirePerson(ctx)
  if (user.auth_method !== 'password') throw forbidden('the name and address of this account come from its sign-on')
  const changes = {
    ...(input.username !== undefined && { username: input.username }),
    ...(input.email !== undefined && { unconfirmed_email: await unconfirmedAddress(ctx, user, input.email) }),
  }
  const event = userAudit('update', user, { changes: Object.keys(changes) })
  return withTwoFactor(ctx, await audited(ctx, event, (ctx) => updateUser(ctx, user.id, changes)))
}

/**
 * The address to wait for confirmation. Null for the address that the account has already: this withdraws an earlier
 * claim.
 */
async function unconfirmedAddress(ctx: Ctx, user: UserRow, email: string) {
  const owner = await findUserByLogin(ctx.db, email)
  if (owner && owner.id !== user.id) throw invalid('Email has already been taken', '/data/attributes/email')
  return owner ? null : email
}
