import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import type { Loader } from '../../../http/loaders.ts'
import { includedUsers } from '../../identity/users/resource.ts'
import { listReadableTeams } from '../teams/access.ts'
import { showTeams } from '../teams/service.ts'
import { listReadableMemberships } from './access.ts'
import { invitedUserResource } from './resource.ts'
import { showMemberships } from './service.ts'

export const membershipLoaders: readonly Loader[] = [
  {
    type: 'organization-memberships',
    load: async (ctx, ids) => showMemberships(ctx, await listReadableMemberships(ctx, ids)),
  },
  { of: 'organization-memberships', relation: 'user', load: loadUsers },
  { of: 'organization-memberships', relation: 'teams', load: loadTeams },
]

/** The users of memberships, by membership id: accounts, and placeholders for invited users. */
export async function loadUsers(ctx: Ctx, memberships: readonly Resource[]) {
  const active = memberships.filter((membership) => !isInvitation(membership))
  const accounts = new Map((await includedUsers(ctx, active.flatMap(userIds))).map((user) => [user.id, user]))
  return new Map(
    memberships.flatMap((membership) =>
      userIds(membership).flatMap((id): [string, Resource][] => {
        const user = isInvitation(membership) ? invitedUserResource(id) : accounts.get(id)
        return user ? [[membership.id, user]] : []
      }),
    ),
  )
}

function isInvitation({ attributes }: Resource) {
  return attributes?.['status'] === 'invited'
}

function userIds(membership: Resource) {
  return relatedIds(membership, 'user')
}

async function loadTeams(ctx: Ctx, memberships: readonly Resource[]) {
  const ids = new Set(memberships.flatMap((membership) => relatedIds(membership, 'teams')))
  const resources = await showTeams(ctx, await listReadableTeams(ctx, [...ids]))
  const teams = new Map(resources.map((team) => [team.id, team]))
  return new Map(
    memberships.map((membership) => [
      membership.id,
      relatedIds(membership, 'teams').flatMap((id) => teams.get(id) ?? []),
    ]),
  )
}

function relatedIds({ relationships }: Resource, relation: string) {
  return [relationships?.[relation]?.data ?? []].flat().map(({ id }) => id)
}
