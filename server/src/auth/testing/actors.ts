import { openSession } from '../../features/identity/sessions/service.ts'
import { createTeamWithAccess } from '../../testing/access.ts'
import type { TestApp } from '../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../testing/factories.ts'
import { addMember, createTeamToken } from '../../testing/teams.ts'
import { type Fixtures, createFixtures, fill } from './fixtures.ts'

/**
 * The actors of the tests: without and with an invalid token, a user of another organization, users with each level of access to one
 * workspace, the owner and a site administrator; then a token of each kind that does not belong to a user. The team may write to that workspace;
 * the run, job and task result belong to it.
 */
export const ACTORS = [
  'none',
  'bad',
  'stranger',
  'member',
  'read',
  'plan',
  'write',
  'admin',
  'owner',
  'site',
  'team',
  'org',
  'agent',
  'run',
  'job',
  'task',
  'audit',
] as const
export type ActorName = (typeof ACTORS)[number]

/** Hash of an unknown password, so that rejecting a wrong one does not take 100 ms in tests. */
const CHEAP_HASH = `$scrypt$ln=8,r=8,p=1$${'s'.repeat(22)}$${'h'.repeat(43)}`

/** An organization with a resource of each kind and a user of each role. */
export type Actors = Fixtures & {
  /** Fills the parameters of a route: `/api/v2/runs/:runId` → `/api/v2/runs/run-…`. */
  path: (url: string) => string
  tokens: Record<ActorName, string | undefined>
  people: Record<'stranger' | 'member' | 'read' | 'plan' | 'write' | 'admin' | 'owner' | 'site', TestUser>
}

/** The organization and its users are named after `mark`; other names are constant. */
export async function createActors(app: TestApp, mark: string): Promise<Actors> {
  const person = async (name: string) => {
    const user = await createUser(app, { username: `${mark}-${name}`, isSiteAdmin: name === 'site' })
    await app.db
      .updateTable('users')
      .set({ password_hash: CHEAP_HASH, auth_method: 'password' })
      .where('id', '=', user.id)
      .execute()
    return user
  }
  const owner = await person('owner')
  const organization = await createOrganization(app, owner, { name: mark })
  const fixtures = await createFixtures(app, { owner, organization, bystander: await person('bystander') })

  const [stranger, member, site] = [await person('stranger'), await person('member'), await person('site')]
  await createOrganization(app, stranger, { name: `${mark}-elsewhere` })
  await addMember(app, organization.id, member)
  const withAccess = async (access: 'read' | 'plan' | 'write' | 'admin') => {
    const user = await person(access)
    await addMember(app, organization.id, user)
    const workspaces = { [fixtures.ids.workspaces]: access }
    const team = await createTeamWithAccess(app, { organizationId: organization.id, members: [user], workspaces })
    return { user, team }
  }
  const [read, plan, write, admin] = [
    await withAccess('read'),
    await withAccess('plan'),
    await withAccess('write'),
    await withAccess('admin'),
  ]
  const row = await app.db.selectFrom('users').selectAll().where('id', '=', owner.id).executeTakeFirstOrThrow()
  const { session } = await openSession(app.as(), row)
  const ids = { ...fixtures.ids, sessions: session.id, 'users>authentication-tokens': owner.id }
  return {
    ...fixtures,
    ids,
    path: (url) => fill(url, ids),
    people: { stranger, member, read: read.user, plan: plan.user, write: write.user, admin: admin.user, owner, site },
    tokens: {
      ...fixtures.tokens,
      none: undefined,
      bad: 'user-0000000000000000.atlasv1.nobody-has-this-token',
      stranger: stranger.token,
      member: member.token,
      read: read.user.token,
      plan: plan.user.token,
      write: write.user.token,
      admin: admin.user.token,
      owner: owner.token,
      site: site.token,
      team: await createTeamToken(app, write.team),
    },
  }
}
