import { transact } from '../db/db.ts'
import { createLegacyTeamToken } from '../features/organizations/authentication-tokens/service.ts'
import { insertMembership } from '../features/organizations/organization-memberships/service.ts'
import { insertTeam } from '../features/organizations/teams/service.ts'
import { insertTeamMembers } from '../features/organizations/teams/store.ts'
import type { TestApp } from './app.ts'
import type { TestUser } from './factories.ts'

type NewTeam = {
  name?: string
  members?: readonly TestUser[]
  /** Columns of the team, such as `manage_workspaces` or `visibility`. */
  columns?: Parameters<typeof insertTeam>[2]
}

let count = 0

/** Creates a team of the organization; its members also become members of the organization. Returns its id. */
export async function createTeam(app: TestApp, organizationId: string, input: NewTeam = {}) {
  count += 1
  return transact(app.as(), async (ctx) => {
    const name = input.name ?? `team-${count}`
    const id = await insertTeam(ctx, { organizationId, name }, input.columns)
    await addToTeam(ctx, { organizationId, id }, input.members ?? [])
    return id
  })
}

async function addToTeam(
  ctx: Parameters<typeof insertMembership>[0],
  { organizationId, id }: { organizationId: string; id: string },
  members: readonly TestUser[],
) {
  for (const { id: userId } of members) await insertMembership(ctx, { organizationId, userId })
  await insertTeamMembers(ctx.db, { teamIds: [id], userIds: members.map((member) => member.id), now: ctx.now() })
}

/** Makes the user a member of the organization, without a team. */
export async function addMember(app: TestApp, organizationId: string, user: TestUser) {
  await transact(app.as(), async (ctx) => insertMembership(ctx, { organizationId, userId: user.id }))
}

/** Creates a token of the team and returns its text. */
export async function createTeamToken(app: TestApp, teamId: string) {
  return (await createLegacyTeamToken(app.as(), teamId, {})).text
}
