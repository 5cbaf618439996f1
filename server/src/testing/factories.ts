import { createProjectBody } from '@groundstate/contract/projects'
import { createWorkspaceBody } from '@groundstate/contract/workspaces'
import type { UserActor } from '../auth/actor.ts'
import { createUserToken } from '../features/identity/tokens/service.ts'
import { createUser as createUserIn } from '../features/identity/users/service.ts'
import { createOrganization as create } from '../features/organizations/organizations/service.ts'
import { createProject as createProjectIn } from '../features/organizations/projects/service.ts'
import { createWorkspace as createWorkspaceIn } from '../features/workspaces/workspaces/service.ts'
import { hashPassword } from '../secrets/passwords.ts'
import type { TestApp } from './app.ts'

/** A user with an API token; `actor` is for service functions. */
export type TestUser = { id: string; username: string; email: string; token: string; actor: UserActor }

let count = 0
/** Parameters of fast hashes; each password is hashed once per file. */
const CHEAP = { ln: 4, r: 8, p: 1 }
const hashes = new Map<string, Promise<string>>()

/** Creates a user, by default without a password, which saves the time for hashing. */
export async function createUser(
  app: TestApp,
  input: { username?: string; email?: string; password?: string; isSiteAdmin?: boolean } = {},
): Promise<TestUser> {
  count += 1
  const username = input.username ?? `user-${count}`
  const email = input.email ?? `${username}@example.com`
  const user = await createUserIn(app.as(), {
    username,
    email,
    passwordHash: input.password === undefined ? null : await hashOnce(input.password),
    isSiteAdmin: input.isSiteAdmin ?? false,
  })
  // Outlives every test that moves the clock.
  const lasting = { description: 'test', 'expired-at': '2100-01-01T00:00:00Z' }
  const { token, text } = await createUserToken(app.as(), user.id, lasting)
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

async function hashOnce(password: string) {
  const hash = hashes.get(password) ?? hashPassword(password, CHEAP)
  hashes.set(password, hash)
  return hash
}

/** Creates an organization owned by `owner`. */
export async function createOrganization(app: TestApp, owner: TestUser, input: { name?: string } = {}) {
  count += 1
  return create(app.as(owner.actor), { name: input.name ?? `organization-${count}`, email: owner.email })
}

/** Creates a project in the organization; the actor must have the permission. */
export async function createProject(
  app: TestApp,
  { organization, actor, ...attributes }: { organization: string; actor: UserActor; name?: string },
) {
  count += 1
  const body = { data: { type: 'projects', attributes: { name: `project-${count}`, ...attributes } } }
  return createProjectIn(app.as(actor), organization, createProjectBody.parse(body).data)
}

/**
 * Creates a workspace in the organization. `attributes` are those of the API (`{ 'auto-apply': true }`); the actor is
 * the system by default.
 */
export async function createWorkspace(
  app: TestApp,
  input: {
    organization: string
    actor?: UserActor
    name?: string
    projectId?: string
    /** Flat tags. */
    tags?: readonly string[]
    attributes?: Record<string, unknown>
  },
) {
  count += 1
  const body = {
    data: {
      type: 'workspaces',
      attributes: { name: input.name ?? `workspace-${count}`, ...input.attributes },
      relationships: {
        ...(input.projectId !== undefined && { project: { data: { type: 'projects', id: input.projectId } } }),
        ...(input.tags && { tags: { data: input.tags.map((name) => ({ type: 'tags', attributes: { name } })) } }),
      },
    },
  }
  return createWorkspaceIn(app.as(input.actor), input.organization, {
    input: createWorkspaceBody.parse(body).data,
  })
}
