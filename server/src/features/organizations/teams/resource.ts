import type { OrganizationAccessInput, TeamResource } from '@groundstate/contract/teams'
import { ORGANIZATION_ACCESS, type OrganizationAccess } from '../../../auth/grants.ts'
import { missingAccess } from '../../../auth/team-permissions.ts'
import type { Team } from './access.ts'
import type { TeamMember } from './store.ts'

export function teamResource(team: Team, members: readonly TeamMember[]): TeamResource {
  const { can, is_owners: isOwners } = team
  const self = `/api/v2/teams/${team.id}`
  // An actor without the team's access may not change it: it could add itself.
  const isInReach = missingAccess(team.access, team).length === 0
  const updates = can.has('team:update') && isInReach
  const access = ORGANIZATION_ACCESS.map((name) => [attributeName(name), isOwners || team[name]])
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
      'organization-access': Object.fromEntries(access) as TeamResource['attributes']['organization-access'],
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
      users: { data: members.flatMap(({ user_id: id }) => (id === null ? [] : { id, type: 'users' as const })) },
      'organization-memberships': {
        data: members.flatMap(({ membership_id: id }) =>
          id === null ? [] : { id, type: 'organization-memberships' as const },
        ),
      },
      'authentication-token': { links: { related: `${self}/authentication-token` } },
      'authentication-tokens': { links: { related: `${self}/authentication-tokens` } },
    },
    links: { self },
  }
}

export function attributeName(name: OrganizationAccess) {
  return name.replaceAll('_', '-') as keyof OrganizationAccessInput
}
