import type { TeamResource } from '@groundstate/contract/teams'
import { ORGANIZATION_ACCESS } from '../../../auth/grants.ts'
import { missingAccess } from '../../../auth/team-permissions.ts'
import type { Team } from './access.ts'
import type { TeamMember } from './members-store.ts'
import { attributeName } from './settings.ts'

export function teamResource(team: Team, members: readonly TeamMember[]): TeamResource {
  const { can, is_owners: isOwners } = team
  const self = `/api/v2/teams/${team.id}`
  // An actor without the access of the team may not add members: it could give itself that access.
  const isInReach = missingAccess(team.access, team).length === 0
  const updates = can.has('team:update') && isInReach
  return {
    id: team.id,
    type: 'teams',
    attributes: {
      name: team.name,
      description: team.description,
      'sso-team-id': team.sso_team_id,
      'users-count': team.users_count,
      'non-service-users-count': team.users_count,
      visibility: team.visibility,
      'allow-member-token-management': team.allow_member_token_management,
      'is-unified': false,
      'organization-access': organizationAccess(team),
      permissions: {
        'can-update-membership': can.has('members:manage') && isInReach,
        'can-destroy': can.has('team:delete'),
        'can-update-organization-access': can.has('organization-access:update') && isInReach && !isOwners,
        'can-update-api-token': can.has('tokens:manage') && isInReach,
        'can-view-api-token': can.has('tokens:manage'),
        'can-update-visibility': updates && !isOwners,
        'can-update-name': updates && !isOwners,
        'can-update-sso-team-id': updates,
        'can-update-member-token-management': updates,
      },
    },
    relationships: {
      organization: { data: { id: team.organization_name, type: 'organizations' } },
      users: { data: users(members) },
      'organization-memberships': { data: memberships(members) },
      'authentication-token': { links: { related: `${self}/authentication-token` } },
      'authentication-tokens': { links: { related: `${self}/authentication-tokens` } },
    },
    links: { self },
  }
}

function users(members: readonly TeamMember[]): TeamResource['relationships']['users']['data'] {
  return members.flatMap(({ user_id: id }) => (id === null ? [] : { id, type: 'users' }))
}

function memberships(
  members: readonly TeamMember[],
): TeamResource['relationships']['organization-memberships']['data'] {
  return members.flatMap(({ membership_id: id }) => (id === null ? [] : { id, type: 'organization-memberships' }))
}

function organizationAccess(team: Team) {
  const names = ORGANIZATION_ACCESS.map((name) => [attributeName(name), team.is_owners || team[name]])
  return Object.fromEntries(names) as TeamResource['attributes']['organization-access']
}
