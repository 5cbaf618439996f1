import type { UserActor } from '../auth/actor.ts'
import { createOrganization as create } from '../features/organizations/service.ts'
import { createUserToken } from '../features/tokens/service.ts'
import { insertUser } from '../features/users/service.ts'
import { hashPassword } from '../secrets/passwords.ts'
import type { TestApp } from './app.ts'

/** A person with an API token; `actor` is for services. */
export type TestUser = { id: string; username: string; email: string; token: string; actor: UserActor }

let count = 0

/** Without a `password` the account has none, which saves the time of hashing it. */
export async function createUser(
  app: TestApp,
  input: { username?: string; email?: string; password?: string; isSiteAdmin?: boolean } = {},
): Promise<TestUser> {
  count += 1
  const username = input.username ?? `user-${count}`
  const email = input.email ?? `${username}@example.com`
  const user = await insertUser(app.as(), {
    username,
    email,
    passwordHash: input.password === undefined ? null : await hashPassword(input.password),
    isSiteAdmin: input.isSiteAdmin ?? false,
  })
  const { token, text } = await createUserToken(app.as(), user.id, { description: 'test' })
  const actor: UserActor = {
    kind: 'user',
    userId: user.id,
    username,
    isSiteAdmin: user.is_site_admin,
    teamId: undefined,
    tokenId: token.id,
  }
  return { id: user.id, username, email, token: text, actor }
}

/** An organization of `owner`. */
export async function createOrganization(app: TestApp, owner: TestUser, input: { name?: string } = {}) {
  count += 1
  return create(app.as(owner.actor), { name: input.name ?? `organization-${count}`, email: owner.email })
}
